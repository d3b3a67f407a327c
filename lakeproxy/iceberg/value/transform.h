#pragma once

// Partition transforms: from a column's value to the value that files are
// grouped by. Readers compute the same and prune by it, so a wrong value here
// is a lost row there.
// Source: Iceberg table specification, "Partition Transforms"; Appendix B,
// "32-bit Hash Requirements".

#include <cstdint>
#include <optional>

#include "base/core/result.h"
#include "lakeproxy/iceberg/schema/literal.h"
#include "lakeproxy/iceberg/schema/partition_spec.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::materialize {

/// The type of the transform's values over a column of type `source`. A day
/// is a date, as the reference implementation has it.
/// Errors: kInvalid  the transform does not take that type, or its parameter is
///         not positive; kUnsupported  the transform is unknown.
[[nodiscard]] base::Result<model::Type> transform_result_type(const model::Transform& transform,
                                                              const model::Type& source);

/// The transform of one value; null stays null, and void makes everything null.
/// `value` holds the alternative of `source`. Months, days and hours are
/// counted from 1970-01-01T00:00 and round down, before it too.
/// Errors: as transform_result_type(); kInvalid  `value` is of another type, or
///         truncating it leaves the range of its type.
[[nodiscard]] base::Result<std::optional<model::Literal>> apply_transform(
    const model::Transform& transform, const model::Type& source,
    const std::optional<model::Literal>& value);

/// The 32-bit hash that bucket transforms use (Murmur3, x86 variant, seed 0).
/// Errors: kInvalid  the type cannot be hashed, or `value` is of another type.
[[nodiscard]] base::Result<std::int32_t> bucket_hash(const model::Literal& value,
                                                     const model::Type& type);

}  // namespace lake::materialize

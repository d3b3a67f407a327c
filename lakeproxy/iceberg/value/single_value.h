#pragma once

// The bytes of one value, as bounds and partition summaries hold them.
// Source: Iceberg table specification, Appendix D, "Binary single-value
// serialization".

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "lakeproxy/iceberg/schema/literal.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::materialize {

/// Little-endian numbers, UTF-8 text, UUIDs and decimals big-endian, decimals
/// in the fewest bytes. The alternative of `value` decides.
[[nodiscard]] std::string encode_single_value(const model::Literal& value);

/// Reads a bound of a column of that type. A bound that was written before the
/// column's type was promoted is taken too: 4 bytes for long and for double.
/// Errors: kInvalid  a length that the type does not have, a boolean other
///         than 0 and 1, text that is not UTF-8, a decimal over its precision;
///         kUnsupported  a type that has no single value (nested, variant,
///         geometry, geography, unknown).
[[nodiscard]] base::Result<model::Literal> decode_single_value(std::string_view bytes,
                                                               const model::Type& type);

/// The alternative of Literal that values of that type take.
[[nodiscard]] bool has_alternative_of(const model::Literal& value, const model::Type& type);

}  // namespace lake::materialize

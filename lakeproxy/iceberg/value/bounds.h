#pragma once

// Long text makes long bounds, and a manifest holds two of them for each
// column of each file. A bound may be shortened as long as no value falls
// outside: a lower bound by cutting it, an upper bound by cutting it and
// raising what is left.
// Source: Iceberg table specification, "Manifests", notes on bounds.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/type.h"

namespace lake::materialize {

/// Characters of text or bytes of binary that bounds keep unless a table says
/// otherwise, as "write.metadata.metrics.default" has it: truncate(16).
inline constexpr std::size_t kDefaultBoundWidth = 16;

/// The first `width` code points (string) or bytes (binary) of a bound in
/// binary single-value form; bounds of other types as they are.
[[nodiscard]] std::string shorten_lower_bound(std::string_view bound, const model::Type& type,
                                              std::size_t width = kDefaultBoundWidth);

/// Likewise, with the last code point or byte that can be raised raised by one
/// and the rest cut. Nothing when none can be raised, or when text is not
/// UTF-8: then there is no upper bound.
[[nodiscard]] std::optional<std::string> shorten_upper_bound(
    std::string_view bound, const model::Type& type, std::size_t width = kDefaultBoundWidth);

}  // namespace lake::materialize

#pragma once

// Decimals as plain text: all digits, no exponent, exactly the type's scale.
// Source: Iceberg table specification, Appendix D, "JSON single-value serialization".

#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/literal.h"

namespace lake::model {

/// "-0.05" for the unscaled value -5 of scale 2.
[[nodiscard]] std::string format_decimal(const Decimal& decimal, int scale);
/// Nothing when `text` is no plain number, has another scale, or more digits
/// than `precision`.
[[nodiscard]] std::optional<Decimal> parse_decimal(std::string_view text, int precision, int scale);

}  // namespace lake::model

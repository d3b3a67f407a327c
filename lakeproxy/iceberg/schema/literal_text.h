#pragma once

// The texts of single values that JSON has no form for: decimals, dates and times. Every
// value of the integer behind a date or a timestamp has a text, also years far from ours,
// and every text reads back to the same integer.
// Source: Iceberg table specification, Appendix D, "JSON single-value serialization";
// ISO 8601-1:2019, 5.2.2 (years beyond four digits have a sign).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/literal.h"

namespace lake::model {

/// All digits, no exponent, exactly the type's scale: "-0.05" for the unscaled value -5 of
/// scale 2.
[[nodiscard]] std::string format_decimal(const Decimal& decimal, int scale);
/// Nothing when `text` is no plain number, has another scale, or more digits
/// than `precision`.
[[nodiscard]] std::optional<Decimal> parse_decimal(std::string_view text, int precision, int scale);

inline constexpr std::int64_t kMicrosPerSecond = 1'000'000;
inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

/// "2017-11-16" from days since 1970-01-01.
[[nodiscard]] std::string format_date(std::int32_t days);
/// Nothing when not a date or beyond 32 bits.
[[nodiscard]] std::optional<std::int32_t> parse_date(std::string_view text);

/// "22:31:08.123456" from microseconds since midnight, at most 86,399,999,999;
/// zeros at the end of the fraction are left out.
[[nodiscard]] std::string format_time(std::int64_t micros);
/// Nothing when not a time of day or finer than a microsecond.
[[nodiscard]] std::optional<std::int64_t> parse_time(std::string_view text);

/// "2017-11-16T22:31:08.123456" from ticks since 1970-01-01T00:00;
/// `ticks_per_second` is one of the constants above.
[[nodiscard]] std::string format_timestamp(std::int64_t ticks, std::int64_t ticks_per_second);
/// Nothing when not a timestamp without offset, finer than a tick or beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_timestamp(std::string_view text,
                                                          std::int64_t ticks_per_second);

}  // namespace lake::model

#include <fmt/format.h>

#include <cstdlib>

#include "lakeproxy/iceberg/schema/civil_date.h"
#include "lakeproxy/iceberg/schema/literal_text.h"

namespace lake::model {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
/// Years whose days fit 32 bits have at most seven digits.
constexpr std::size_t kMaxYearDigits = 9;

struct Split {
  std::int64_t quotient = 0;
  std::int64_t remainder = 0;  ///< Never negative.
};

constexpr Split floor_divide(std::int64_t value, std::int64_t divisor) {
  Split out{value / divisor, value % divisor};
  if (out.remainder < 0) out = {out.quotient - 1, out.remainder + divisor};
  return out;
}

std::string format(const CivilDate& date) {
  const std::int64_t size = std::abs(date.year);
  const char* sign = date.year < 0 ? "-" : date.year > 9999 ? "+" : "";
  return fmt::format("{}{:04}-{:02}-{:02}", sign, size, date.month, date.day);
}

/// Digits only, as many as asked for.
std::optional<std::int64_t> digits(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<std::int64_t> parse_year(std::string_view text) {
  const bool negative = text.starts_with('-');
  const bool sign = negative || text.starts_with('+');
  if (sign) text.remove_prefix(1);
  if (text.size() < 4 || text.size() > kMaxYearDigits || (!sign && text.size() != 4)) {
    return std::nullopt;
  }
  const auto year = digits(text);
  if (!year) return std::nullopt;
  return negative ? -*year : *year;
}

std::optional<std::int64_t> parse_days(std::string_view text) {
  // The year may begin with '-', so the dashes are found from the end.
  if (text.size() < 10) return std::nullopt;
  const auto month_day = text.substr(text.size() - 6);
  if (month_day[0] != '-' || month_day[3] != '-') return std::nullopt;
  const auto year = parse_year(text.substr(0, text.size() - 6));
  const auto month = digits(month_day.substr(1, 2));
  const auto day = digits(month_day.substr(4, 2));
  if (!year || !month || !day || *month < 1 || *month > 12 || *day < 1 || *day > 31) {
    return std::nullopt;
  }
  const CivilDate date{*year, static_cast<unsigned>(*month), static_cast<unsigned>(*day)};
  const std::int64_t days = days_from_civil(date.year, date.month, date.day);
  // 30 February and its like come back as another date.
  const CivilDate back = civil_from_days(days);
  if (back.month != date.month || back.day != date.day) return std::nullopt;
  return days;
}

int fraction_digits(std::int64_t ticks_per_second) {
  return ticks_per_second == kNanosPerSecond ? 9 : 6;
}

/// Ticks since midnight from "22:31:08.123456".
std::optional<std::int64_t> parse_clock(std::string_view text, std::int64_t ticks_per_second) {
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hour = digits(text.substr(0, 2));
  const auto minute = digits(text.substr(3, 2));
  const auto second = digits(text.substr(6, 2));
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
    return std::nullopt;
  }
  std::int64_t fraction = 0;
  if (text.size() > 8) {
    const auto given = text.substr(9);
    const auto width = static_cast<std::size_t>(fraction_digits(ticks_per_second));
    const auto value = digits(given);
    if (text[8] != '.' || !value || given.size() > width) return std::nullopt;
    fraction = *value;
    for (std::size_t i = given.size(); i < width; ++i) fraction *= 10;
  }
  return (*hour * 3600 + *minute * 60 + *second) * ticks_per_second + fraction;
}

std::string format_clock(std::int64_t ticks, std::int64_t ticks_per_second) {
  const auto [seconds, fraction] = floor_divide(ticks, ticks_per_second);
  std::string out =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (fraction == 0) return out;
  out += fmt::format(".{:0{}}", fraction, fraction_digits(ticks_per_second));
  while (out.ends_with('0')) out.pop_back();
  return out;
}

}  // namespace

std::string format_date(std::int32_t days) { return format(civil_from_days(days)); }

std::optional<std::int32_t> parse_date(std::string_view text) {
  const auto days = parse_days(text);
  if (!days || *days < INT32_MIN || *days > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*days);
}

std::string format_time(std::int64_t micros) { return format_clock(micros, kMicrosPerSecond); }

std::optional<std::int64_t> parse_time(std::string_view text) {
  return parse_clock(text, kMicrosPerSecond);
}

std::string format_timestamp(std::int64_t ticks, std::int64_t ticks_per_second) {
  const auto [days, rest] = floor_divide(ticks, kSecondsPerDay * ticks_per_second);
  return format(civil_from_days(days)) + "T" + format_clock(rest, ticks_per_second);
}

std::optional<std::int64_t> parse_timestamp(std::string_view text, std::int64_t ticks_per_second) {
  const auto separator = text.find('T');
  if (separator == std::string_view::npos) return std::nullopt;
  const auto days = parse_days(text.substr(0, separator));
  const auto clock = parse_clock(text.substr(separator + 1), ticks_per_second);
  if (!days || !clock) return std::nullopt;
  const __int128 ticks = static_cast<__int128>(*days) * kSecondsPerDay * ticks_per_second + *clock;
  if (ticks < INT64_MIN || ticks > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(ticks);
}

}  // namespace lake::model

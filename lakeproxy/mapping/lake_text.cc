#include "lakeproxy/mapping/lake_text.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <limits>

#include "base/core/text.h"
#include "lakeproxy/iceberg/schema/civil_date.h"

namespace lake::model {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;

// Takes `count` to `limit` digits off the front of `text`.
std::optional<std::int64_t> take_digits(std::string_view& text, std::size_t count,
                                        std::size_t limit) {
  std::size_t n = 0;
  while (n < text.size() && n < limit && std::isdigit(static_cast<unsigned char>(text[n]))) ++n;
  if (n < count) return std::nullopt;
  auto value = base::parse_int64(text.substr(0, n));
  text.remove_prefix(n);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

unsigned days_in_month(std::int64_t year, std::int64_t month) {
  constexpr unsigned kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

// "2024-02-29" or, before the year 1, "0044-03-15 (BC)" with the era at the end
// of the whole text; the caller has cut it off.
std::optional<std::int64_t> take_date(std::string_view& text, bool before_christ) {
  auto year = take_digits(text, 4, 9);
  if (!year || !take(text, '-')) return std::nullopt;
  auto month = take_digits(text, 2, 2);
  if (!month || *month < 1 || *month > 12 || !take(text, '-')) return std::nullopt;
  auto day = take_digits(text, 2, 2);
  std::int64_t civil_year = before_christ ? 1 - *year : *year;
  if (!day || *day < 1 || *day > days_in_month(civil_year, *month)) return std::nullopt;
  return days_from_civil(civil_year, static_cast<unsigned>(*month), static_cast<unsigned>(*day));
}

// "01:02:03", "01:02:03.4"; in units of 10^-digits seconds.
std::optional<std::int64_t> take_time(std::string_view& text, int digits) {
  auto hour = take_digits(text, 2, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  auto minute = take_digits(text, 2, 2);
  if (!minute || *minute > 59 || !take(text, ':')) return std::nullopt;
  auto second = take_digits(text, 2, 2);
  if (!second || *second > 59) return std::nullopt;
  std::int64_t value = (*hour * 60 + *minute) * 60 + *second;
  bool fraction = take(text, '.');
  std::size_t before = text.size();
  std::int64_t part = 0;
  if (fraction) {
    auto read = take_digits(text, 1, static_cast<std::size_t>(digits));
    if (!read) return std::nullopt;
    part = *read;
  }
  auto seen = static_cast<int>(before - text.size());
  for (int i = 0; i < digits; ++i) value *= 10;
  for (int i = fraction ? seen : digits; i < digits; ++i) part *= 10;
  return value + part;
}

bool cut_era(std::string_view& text) {
  constexpr std::string_view kEra = " (BC)";
  if (!text.ends_with(kEra)) return false;
  text.remove_suffix(kEra.size());
  return true;
}

std::optional<Literal> parse_date(std::string_view text) {
  bool before_christ = cut_era(text);
  auto days = take_date(text, before_christ);
  if (!days || !text.empty() || *days > std::numeric_limits<std::int32_t>::max() ||
      *days < std::numeric_limits<std::int32_t>::min()) {
    return std::nullopt;
  }
  return Literal(static_cast<std::int32_t>(*days));
}

// "2024-01-02 03:04:05.678901", with "+00" for the zoned types: DuckLake
// writes statistics in UTC.
std::optional<Literal> parse_timestamp(std::string_view text, int digits) {
  bool before_christ = cut_era(text);
  auto days = take_date(text, before_christ);
  if (!days || !take(text, ' ')) return std::nullopt;
  auto time = take_time(text, digits);
  if (!time || !(text.empty() || text == "+00" || text == "+00:00")) return std::nullopt;
  std::int64_t per_day = kSecondsPerDay;
  for (int i = 0; i < digits; ++i) per_day *= 10;
  std::int64_t value = 0;
  if (__builtin_mul_overflow(*days, per_day, &value) ||
      __builtin_add_overflow(value, *time, &value)) {
    return std::nullopt;
  }
  return Literal(value);
}

std::optional<Literal> parse_decimal(std::string_view text, int scale) {
  bool negative = take(text, '-');
  __int128 value = 0;
  int fraction = -1;
  int digits = 0;
  for (char c : text) {
    if (c == '.' && fraction < 0) {
      fraction = 0;
      continue;
    }
    if (!std::isdigit(static_cast<unsigned char>(c)) || ++digits > 38) return std::nullopt;
    value = value * 10 + (c - '0');
    if (fraction >= 0) ++fraction;
  }
  if (digits == 0 || std::max(fraction, 0) != scale) return std::nullopt;
  return Literal(Decimal{negative ? -value : value});
}

template <class Number>
std::optional<Literal> parse_float(std::string_view text) {
  Number value{};
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size() || value != value) return std::nullopt;
  return Literal(value);
}

std::optional<Literal> parse_int(std::string_view text) {
  auto value = base::parse_int64(text);
  if (!value || *value > std::numeric_limits<std::int32_t>::max() ||
      *value < std::numeric_limits<std::int32_t>::min()) {
    return std::nullopt;
  }
  return Literal(static_cast<std::int32_t>(*value));
}

std::string fraction_text(std::int64_t value, int digits) {
  if (value == 0) return {};
  std::string text = fmt::format(".{:0{}}", value, digits);
  while (text.back() == '0') text.pop_back();
  return text;
}

std::string time_text(std::int64_t value, int digits) {
  std::int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  std::int64_t seconds = value / unit;
  return fmt::format("{:02}:{:02}:{:02}{}", seconds / 3600, seconds / 60 % 60, seconds % 60,
                     fraction_text(value % unit, digits));
}

struct DateText {
  std::string date;
  std::string era;
};

DateText date_text(std::int64_t days) {
  CivilDate date = civil_from_days(days);
  bool before_christ = date.year < 1;
  std::int64_t year = before_christ ? 1 - date.year : date.year;
  return {fmt::format("{:04}-{:02}-{:02}", year, date.month, date.day),
          before_christ ? " (BC)" : ""};
}

std::string timestamp_text(std::int64_t value, int digits, std::string_view zone) {
  std::int64_t per_day = kSecondsPerDay;
  for (int i = 0; i < digits; ++i) per_day *= 10;
  std::int64_t days = value / per_day - (value % per_day < 0 ? 1 : 0);
  DateText date = date_text(days);
  return date.date + ' ' + time_text(value - days * per_day, digits) + std::string(zone) + date.era;
}

std::string decimal_text(__int128 unscaled, int scale) {
  bool negative = unscaled < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(unscaled)
                       : static_cast<unsigned __int128>(unscaled);
  std::string digits;
  while (rest != 0 || static_cast<int>(digits.size()) <= scale) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  }
  if (scale > 0) digits.insert(digits.size() - static_cast<std::size_t>(scale), ".");
  return negative ? "-" + digits : digits;
}

template <class Number>
std::string float_text(Number value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::string hex_upper(const std::string& bytes) {
  std::string text;
  for (char c : bytes) text += fmt::format("{:02X}", static_cast<unsigned char>(c));
  return text;
}

}  // namespace

std::optional<Literal> parse_lake_text(const Type& type, std::string_view text) {
  switch (type.kind()) {
    case TypeKind::kBoolean:
      if (text == "1" || text == "true") return Literal(true);
      if (text == "0" || text == "false") return Literal(false);
      return std::nullopt;
    case TypeKind::kInt: return parse_int(text);
    case TypeKind::kLong:
      if (auto value = base::parse_int64(text)) return Literal(*value);
      return std::nullopt;
    case TypeKind::kFloat: return parse_float<float>(text);
    case TypeKind::kDouble: return parse_float<double>(text);
    case TypeKind::kDecimal: return parse_decimal(text, type.scale());
    case TypeKind::kDate: return parse_date(text);
    case TypeKind::kTime:
      if (auto time = take_time(text, 6); time && text.empty()) return Literal(*time);
      return std::nullopt;
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz: return parse_timestamp(text, 6);
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: return parse_timestamp(text, 9);
    case TypeKind::kString: return Literal(std::string(text));
    case TypeKind::kUuid:
      if (auto uuid = base::parse_uuid(text)) return Literal(*uuid);
      return std::nullopt;
    case TypeKind::kFixed:
      if (text.size() != 2 * static_cast<std::size_t>(type.length())) return std::nullopt;
      [[fallthrough]];
    case TypeKind::kBinary:
      if (auto bytes = base::from_hex(text)) return Literal(Bytes{std::move(*bytes)});
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::string to_lake_text(const Type& type, const Literal& literal) {
  switch (type.kind()) {
    case TypeKind::kBoolean: return std::get<bool>(literal) ? "1" : "0";
    case TypeKind::kInt: return std::to_string(std::get<std::int32_t>(literal));
    case TypeKind::kLong: return std::to_string(std::get<std::int64_t>(literal));
    case TypeKind::kFloat: return float_text(std::get<float>(literal));
    case TypeKind::kDouble: return float_text(std::get<double>(literal));
    case TypeKind::kDecimal: return decimal_text(std::get<Decimal>(literal).unscaled, type.scale());
    case TypeKind::kDate: {
      DateText text = date_text(std::get<std::int32_t>(literal));
      return text.date + text.era;
    }
    case TypeKind::kTime: return time_text(std::get<std::int64_t>(literal), 6);
    case TypeKind::kTimestamp: return timestamp_text(std::get<std::int64_t>(literal), 6, "");
    case TypeKind::kTimestamptz: return timestamp_text(std::get<std::int64_t>(literal), 6, "+00");
    case TypeKind::kTimestampNs: return timestamp_text(std::get<std::int64_t>(literal), 9, "");
    case TypeKind::kTimestamptzNs: return timestamp_text(std::get<std::int64_t>(literal), 9, "+00");
    case TypeKind::kUuid: return base::to_string(std::get<base::Uuid>(literal));
    case TypeKind::kFixed:
    case TypeKind::kBinary: return hex_upper(std::get<Bytes>(literal).value);
    default: return std::get<std::string>(literal);
  }
}

}  // namespace lake::model

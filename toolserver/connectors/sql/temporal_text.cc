#include "toolserver/connectors/sql/temporal_text.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

namespace tool::connectors {
namespace {

constexpr std::int64_t kDaySeconds = 86'400;

struct Split {
  std::int64_t quotient;
  std::int64_t rest;  // Never negative.
};

Split floor_divide(std::int64_t value, std::int64_t by) {
  Split split{value / by, value % by};
  if (split.rest < 0) split = {split.quotient - 1, split.rest + by};
  return split;
}

// ".25" of 250'000 in 1'000'000.
std::string fraction_text(std::int64_t part, std::int64_t per_second) {
  if (part == 0) return "";
  std::string digits = fmt::format("{}", per_second + part).substr(1);
  while (digits.ends_with('0')) digits.pop_back();
  return "." + digits;
}

std::string clock_text(std::int64_t seconds) {
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string part_text(std::int64_t number, char unit) {
  return number == 0 ? "" : fmt::format("{}{}", number, unit);
}

}  // namespace

std::string date_text(std::int32_t days) {
  if (days == std::numeric_limits<std::int32_t>::max()) return "infinity";
  if (days == -std::numeric_limits<std::int32_t>::max()) return "-infinity";
  duckdb_date_struct date = duckdb_from_date({days});
  int month = date.month;
  int day = date.day;
  if (date.year >= 0 && date.year <= 9999) {
    return fmt::format("{:04}-{:02}-{:02}", date.year, month, day);
  }
  return fmt::format("{}{:06}-{:02}-{:02}", date.year < 0 ? '-' : '+', std::abs(date.year), month,
                     day);
}

std::string timestamp_text(std::int64_t ticks, std::int64_t per_second, Zone zone) {
  if (ticks == std::numeric_limits<std::int64_t>::max()) return "infinity";
  if (ticks == -std::numeric_limits<std::int64_t>::max()) return "-infinity";
  Split second = floor_divide(ticks, per_second);
  Split day = floor_divide(second.quotient, kDaySeconds);
  return fmt::format("{}T{}{}{}", date_text(static_cast<std::int32_t>(day.quotient)),
                     clock_text(day.rest), fraction_text(second.rest, per_second),
                     zone == Zone::kUtc ? "Z" : "");
}

std::string time_text(std::int64_t ticks, std::int64_t per_second) {
  Split second = floor_divide(ticks, per_second);
  return clock_text(second.quotient) + fraction_text(second.rest, per_second);
}

std::string time_tz_text(std::int64_t micros, std::int32_t offset_seconds) {
  std::int64_t offset = std::abs(offset_seconds);
  std::string zone =
      fmt::format("{}{:02}:{:02}", offset_seconds < 0 ? '-' : '+', offset / 3600, offset / 60 % 60);
  if (offset % 60 != 0) zone += fmt::format(":{:02}", offset % 60);
  return time_text(micros, 1'000'000) + zone;
}

std::string interval_text(const duckdb_interval& interval) {
  std::string text = "P" + part_text(interval.months / 12, 'Y') +
                     part_text(interval.months % 12, 'M') + part_text(interval.days, 'D');
  std::int64_t seconds = interval.micros / 1'000'000;
  std::int64_t rest = interval.micros % 1'000'000;
  std::string time = part_text(seconds / 3600, 'H') + part_text(seconds / 60 % 60, 'M');
  if (seconds % 60 != 0 || rest != 0) {
    time += fmt::format("{}{}{}S", interval.micros < 0 ? "-" : "", std::abs(seconds % 60),
                        fraction_text(std::abs(rest), 1'000'000));
  }
  if (!time.empty()) text += "T" + time;
  return text == "P" ? "PT0S" : text;
}

}  // namespace tool::connectors

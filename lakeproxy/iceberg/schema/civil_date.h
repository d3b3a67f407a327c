#pragma once

// Dates of the proleptic Gregorian calendar as numbers of days.

#include <cstdint>

namespace lake::model {

/// Days since 1970-01-01 of a proleptic Gregorian date; no range check.
/// `month` 1 to 12, `day` 1 to 31.
[[nodiscard]] std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day);

struct CivilDate {
  std::int64_t year;
  unsigned month;
  unsigned day;
};
[[nodiscard]] CivilDate civil_from_days(std::int64_t days);

}  // namespace lake::model

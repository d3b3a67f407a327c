#include "lakeproxy/iceberg/schema/civil_date.h"

namespace lake::model {

// Source: the era-based method of computing days from a civil date: years
// start in March, so the leap day is the last one.
std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day) {
  std::int64_t y = month <= 2 ? year - 1 : year;
  std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  std::int64_t year_of_era = y - era * 400;
  std::int64_t month_from_march = month > 2 ? month - 3 : month + 9;
  std::int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
  std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

CivilDate civil_from_days(std::int64_t days) {
  std::int64_t z = days + 719'468;
  std::int64_t era = (z >= 0 ? z : z - 146'096) / 146'097;
  std::int64_t day_of_era = z - era * 146'097;
  std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  auto day = static_cast<unsigned>(day_of_year - (153 * month_from_march + 2) / 5 + 1);
  auto month =
      static_cast<unsigned>(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

}  // namespace lake::model

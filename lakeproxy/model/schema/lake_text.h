#pragma once

// DuckLake keeps statistics, partition values and defaults as the text that
// DuckDB prints for the value. This is that text, read and written for each
// Iceberg type that a lake column can have.
// Source: DuckLake specification 1.0, "ducklake_file_column_stats"; forms
// checked against DuckDB 1.5.5.

#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/model/schema/literal.h"
#include "lakeproxy/model/schema/type.h"

namespace lake::model {

/// The value of a primitive `type`, or nothing when the text is not one or the
/// type cannot hold it ("infinity" as a date): an unknown bound, not an error.
[[nodiscard]] std::optional<Literal> parse_lake_text(const Type& type, std::string_view text);

/// The text DuckDB would print. The alternative of `literal` must be `type`'s.
[[nodiscard]] std::string to_lake_text(const Type& type, const Literal& literal);

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

#pragma once

// DuckLake keeps statistics, partition values and defaults as the text that
// DuckDB prints for the value. This is that text, read and written for each
// Iceberg type that a lake column can have.
// Source: DuckLake specification 1.0, "ducklake_file_column_stats"; forms
// checked against DuckDB 1.5.5.

#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/literal.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::model {

/// The value of a primitive `type`, or nothing when the text is not one or the
/// type cannot hold it ("infinity" as a date): an unknown bound, not an error.
[[nodiscard]] std::optional<Literal> parse_lake_text(const Type& type, std::string_view text);

/// The text DuckDB would print. The alternative of `literal` must be `type`'s.
[[nodiscard]] std::string to_lake_text(const Type& type, const Literal& literal);

}  // namespace lake::model

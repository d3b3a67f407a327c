#pragma once

// Columns in the SQL expressions by which DuckDB sorts a table.

#include <optional>
#include <string>
#include <string_view>

namespace lake::ducklake {

/// The name that a plain or quoted identifier is; nothing for a quoted text that goes
/// on. What has no quotes may still be an expression, and no column's name.
[[nodiscard]] std::optional<std::string> identifier_in(std::string_view expression);

/// `name` as an expression, in quotes.
[[nodiscard]] std::string identifier_of(std::string_view name);

/// Whether DuckDB takes the two for one name: in any case of ASCII letters.
[[nodiscard]] bool is_same_name(std::string_view a, std::string_view b);

/// Whether `name` may stand in the expression. It says so too often, not too seldom.
[[nodiscard]] bool may_name(std::string_view expression, std::string_view name);

}  // namespace lake::ducklake

#pragma once

// Which functions of the engine a query may call. The engine has about 800 and
// gets more with each release, so the list holds those that compute from their
// arguments alone, and what is not on it is refused.
// Source: DuckDB 1.5.5, duckdb_functions().

#include <string_view>

namespace tool::connectors {

/// `name` in lower case, of a scalar function, an aggregate, a macro or an
/// operator.
[[nodiscard]] bool is_pure_function(std::string_view name);
/// Of a table function, in FROM.
[[nodiscard]] bool is_pure_table_function(std::string_view name);
/// Table functions that read the files their first argument names.
[[nodiscard]] bool is_file_reader(std::string_view name);
/// Named arguments of those that name no further files.
[[nodiscard]] bool is_reader_option(std::string_view name);

}  // namespace tool::connectors

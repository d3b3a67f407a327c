#pragma once

// Whether a call in the tree may run, and what it does to the length of values:
// by its name, the schema before it and its arguments alone. The screen walks
// the arguments themselves.

#include <expected>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/connectors/sql/sql_growth.h"
#include "toolserver/connectors/sql/sql_screen.h"

namespace tool::connectors {

/// A call of a function that may run; points into its tree.
struct FunctionCall {
  std::string name;  ///< In lower case.
  const base::json::Array* arguments = nullptr;
  Growth growth;
  bool has_fixed_size = false;  ///< Its value, as that of a number.
  bool spreads = false;         ///< Makes rows in the select list.
};

/// `kind` is the class of the expression, FUNCTION or WINDOW; `params` are the
/// values of $1 and on.
/// Errors: why the call is not allowed.
[[nodiscard]] std::expected<FunctionCall, std::string> judge_function(
    std::string_view kind, const base::json::Object& call, const base::json::Array& params);

/// A table function in FROM that may run; points into its tree.
struct TableFunctionCall {
  const base::json::Object* function = nullptr;
  double rows = kNoLimit;    ///< At most.
  bool reads_files = false;  ///< Files that its first argument names.
  bool copies = false;       ///< Its arguments, into the values that it makes.
};

/// Errors: why the call is not allowed.
[[nodiscard]] std::expected<TableFunctionCall, std::string> judge_table_function(
    const base::json::Object& table, const ScreenRules& rules);

}  // namespace tool::connectors

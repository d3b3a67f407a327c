#pragma once

// Whether a call in the tree may run: by its name, the schema before it and its
// arguments alone. The screen walks the arguments themselves.

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/connectors/sql/sql_screen.h"

namespace tool::connectors {

/// Why a call, of class FUNCTION or WINDOW, is not allowed; nothing where it is.
[[nodiscard]] std::optional<std::string> fault_of_function(const base::json::Object& call);

/// A table function in FROM that may run; points into its tree.
struct TableFunctionCall {
  const base::json::Object* function = nullptr;
  bool reads_files = false;  ///< Files that its first argument names.
};

/// Errors: why the call is not allowed.
[[nodiscard]] std::expected<TableFunctionCall, std::string> judge_table_function(
    const base::json::Object& table, const ScreenRules& rules);

}  // namespace tool::connectors

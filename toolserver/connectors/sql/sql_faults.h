#pragma once

// What an error of the engine is to the caller: a refusal of ours, or an
// answer that says what is wrong with the SQL. The engine's words help to
// correct a query, and they may hold paths of this machine, which are nobody's
// business.

#include <string>
#include <string_view>

#include "base/core/error.h"
#include "toolserver/connectors/sql/sql_call.h"
#include "toolserver/model/invocation.h"

namespace tool::connectors {

/// An answer with is_error.
[[nodiscard]] ToolResult sql_mistake(std::string message);

/// The engine's message without absolute paths, but for those that `own` (the
/// caller's SQL) has, and not longer than a page. Names of files below
/// `data_dir` stay, as relative ones.
[[nodiscard]] std::string without_paths(std::string_view message, std::string_view data_dir,
                                        std::string_view own);

/// Bad SQL and bad values are answers; E_LIMIT, E_TIMEOUT, E_CANCELLED,
/// E_POLICY (the engine's own refusal) and E_INTERNAL (a defect in it) faults.
[[nodiscard]] Outcome<ToolResult> engine_failure(const base::Error& error, const SqlCall& call,
                                                 std::string_view data_dir, std::string_view own);

}  // namespace tool::connectors

#pragma once

// What a policy's expression may be made of. No rule means no: an expression of the engine's that
// is not listed here is refused, since a new one may read a file, tell the time or the
// reader's name, or fill the memory, which the engine bounds for tables and not for texts.

#include <string_view>

#include "base/core/result.h"
#include "base/json/json.h"

namespace lake::governance {

/// Whether bodies may call it: a function, operator or macro of DuckDB's with the same value for
/// the same arguments, everywhere and always.
[[nodiscard]] bool is_callable(std::string_view function);

/// Checks one expression of a parsed statement, with all that is in it: kinds of expressions,
/// functions, and how large a value it can make of a small one.
/// Source: DuckDB 1.5, json_serialize_sql.
/// Errors: kInvalid  without a field's name.
[[nodiscard]] base::Status check_expression(const base::json::Value& expression);

}  // namespace lake::governance

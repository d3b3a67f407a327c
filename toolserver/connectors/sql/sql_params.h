#pragma once

// Parameters as they stand in the arguments of a call, on their way into a
// statement. They are bound, never written into SQL.

#include <vector>

#include "base/duckdb/connection.h"
#include "base/json/json.h"

namespace tool::connectors {

/// Whether it can be a parameter: null, a boolean, a number, a text.
[[nodiscard]] bool is_param(const base::json::Value& value);

/// Integers as BIGINT (UBIGINT above its range), other numbers as DOUBLE, text
/// as VARCHAR. The views are of `values`, which must all be is_param().
[[nodiscard]] std::vector<base::duckdb::Param> bound_params(const base::json::Array& values);

}  // namespace tool::connectors

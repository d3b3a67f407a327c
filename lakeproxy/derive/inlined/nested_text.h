#pragma once

// DuckLake keeps a nested value in PostgreSQL as text, and for a struct that
// text is half SQL: strings with doubled quotes, dates as CAST('...' AS
// VARCHAR), a NUL as chr(0). The engine's own reading of nested text knows
// none of that; it drops the doubled quotes and the backslashes of a string
// and fails on the casts. Lists and maps, and what is inside them, do stand in
// the engine's form.
// Source: looked at in what DuckLake 1.0 of DuckDB 1.5.5 stores.

#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/type.h"

namespace lake::exporter {

/// The value of a struct `type` in the form that the engine casts from text.
/// Nothing when `text` is not in DuckLake's form: it may be the engine's own.
[[nodiscard]] std::optional<std::string> engine_struct_text(const model::Type& type,
                                                            std::string_view text);

}  // namespace lake::exporter

#pragma once

// Defaults of columns as DuckLake keeps them: as text that DuckDB casts to the
// column's type, in one row with the column. Bytes differ from what statistics
// have: printable ones stand for themselves, others as \xHH.
// Source: DuckLake specification 1.0, "ducklake_column"; the form of bytes was
// seen with DuckDB 1.5.5.

#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::ducklake {

/// How DuckLake writes that a column has no default.
inline constexpr std::string_view kNoDefault = "NULL";

/// A time with a zone is given in UTC. Nothing for a text that is none of the type's values, or for
/// no default.
[[nodiscard]] std::optional<model::Literal> parse_default(const model::Type& type,
                                                          std::string_view text);

/// The default of `field`, which is of its type.
/// Errors: kUnsupported  the text that stands for no default; names the column.
[[nodiscard]] base::Result<std::string> default_text(const model::Field& field,
                                                     const model::Literal& value);

}  // namespace lake::ducklake

#pragma once

// A table's columns as the engine writes them: its types, chosen by what they
// become in Parquet, and the field ids at every depth, by which Iceberg's
// readers find the columns.
// Source: Iceberg table specification, "Parquet"; DuckDB 1.5 documentation,
// "Parquet Overview". What the engine writes was looked at for each type.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::exporter {

/// The engine's type whose Parquet form is `type`'s. fixed[L] becomes a BLOB
/// as in the files that DuckDB writes for such a column.
/// Errors: kUnsupported  the engine has none (names it).
[[nodiscard]] base::Result<std::string> engine_type(const model::Type& type);

/// As engine_type(), of a column some of whose parts the lake holds as a type that clients see
/// as another: those get the engine's own, which it writes to Parquet as clients read it.
[[nodiscard]] base::Result<std::string> engine_type(const model::Field& column,
                                                    const model::LakeTypes& lake_types);

/// The FIELD_IDS option of COPY for these top-level columns.
/// Errors: kUnsupported  a nested field's name is a word of that option.
[[nodiscard]] base::Result<std::string> engine_field_ids(const std::vector<model::Field>& fields);

}  // namespace lake::exporter

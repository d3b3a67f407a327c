#pragma once

// A table that was brought over from elsewhere may have files without field ids,
// which a property of the table names the columns of. DuckDB does not know the
// property: for each such file the lake is told what it says.
// Source: Iceberg table specification, "Column Projection".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakeproxy/from_iceberg/rows/lake_files.h"
#include "lakeproxy/iceberg/schema/name_mapping.h"
#include "lakeproxy/iceberg/schema/schema.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// Looks into `files` (only their footers) if the table of `metadata` has a name
/// mapping, and gives those without field ids their `names`. All that is pointed
/// to outlives the task.
/// Errors: kInvalid  the property is no name mapping, or a file lies outside of
///         the catalog's prefix, is missing or broken; kUnsupported  names the file and
///         the column that DuckDB and Iceberg's readers would read otherwise;
///         kUnavailable, kTimeout.
[[nodiscard]] base::Task<base::Status> name_columns(base::RequestContext context, Catalog* catalog,
                                                    const model::TableMetadata* metadata,
                                                    std::vector<ducklake::AddedFile*> files);

/// DuckDB reads values that stand in a file's path alone, "name=value" between its
/// slashes. Iceberg keeps them as partition values, however the path is called. Under
/// which name `path` says that `column` has `value` (nothing: null), by its own name or
/// one that `mapping` has for it; nothing where it does not say it.
[[nodiscard]] std::optional<std::string> name_in_path(std::string_view path,
                                                      const model::Field& column,
                                                      const model::NameMapping& mapping,
                                                      const std::optional<model::Literal>& value);

}  // namespace lake::operation

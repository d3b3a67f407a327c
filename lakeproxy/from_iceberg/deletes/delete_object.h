#pragma once

// Puts a DuckLake delete file where the lake looks for the table's files.

#include <string>
#include <vector>

#include "lakeproxy/from_iceberg/rows/row_deletes.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// `positions` (ascending, each once) of `data_file`, under `folder`, the
/// table's location. Nothing names it before a commit does.
/// Errors: those of Exporter::put_delete_file.
[[nodiscard]] base::Task<base::Result<ducklake::DeleteObject>> put_delete_object(
    base::RequestContext context, Catalog* catalog, std::string folder, std::string data_file,
    std::vector<std::int64_t> positions);

}  // namespace lake::operation

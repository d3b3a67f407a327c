#pragma once

// Which data files an equality delete may apply to: those that were there
// before it, of its partition, or all where its spec has no fields.
// Source: Iceberg table specification, "Scan Planning".

#include <vector>

#include "lakeproxy/export/client_deletes.h"
#include "lakeproxy/operation/catalog.h"
#include "lakeproxy/operation/list_diff.h"

namespace lake::operation {

/// All but the prefix. Reads the data manifests of `list`, and leaves out the
/// files that `diff` removes. `metadata` and `diff` outlive the task.
/// Errors: those of ManifestStore; kTooLarge  over 500,000 data files.
[[nodiscard]] base::Task<base::Result<exporter::EqualitySearch>> equality_search(
    base::RequestContext context, Catalog* catalog, const model::TableMetadata* metadata,
    publish::ManifestList list, const ListDiff* diff, std::vector<ducklake::AddedFile> deletes);

}  // namespace lake::operation

#pragma once

// Which data files an equality delete may apply to: those that were there
// before it, of its partition, or all where its spec has no fields.
// Source: Iceberg table specification, "Scan Planning".

#include <optional>
#include <vector>

#include "lakeproxy/engine/deletes/client_deletes.h"
#include "lakeproxy/from_iceberg/deletes/delete_changes.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// The names of columns in the table's files without field ids, if it has any.
[[nodiscard]] std::optional<model::NameMapping> mapping_of(const model::TableMetadata& metadata);

/// `data_file` with those of `deletes` that its partition does not rule out.
[[nodiscard]] exporter::Candidate candidate_of(const model::TableMetadata& metadata,
                                               const std::vector<ducklake::AddedFile>& deletes,
                                               const ducklake::AddedFile& data_file);

/// Reads the data manifests of the list of `base`, and leaves out the files that
/// `diff` removes. What is pointed to outlives the task.
/// Errors: those of ManifestStore; kTooLarge  over 500,000 data files.
[[nodiscard]] base::Task<base::Result<exporter::EqualitySearch>> equality_search(
    base::RequestContext context, Catalog* catalog, const DeleteBase* base, const ListDiff* diff,
    std::vector<ducklake::AddedFile> deletes);

}  // namespace lake::operation

#pragma once

// The ids of rows, as a snapshot of format version 3 shows them: DuckLake's.
// A file that holds its rows' ids by itself (row_id_start NULL: updated,
// compacted) still needs a first id, or readers give its rows none.
// Source: Iceberg table specification, "Row Lineage"; DuckLake specification
// 1.0, "Row Lineage".

#include <cstdint>
#include <vector>

#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/metadata/snapshot.h"
#include "lakeproxy/to_iceberg/snapshot/data_file_view.h"

namespace lake::materialize {

/// Sets where the ids of `snapshot`'s new rows begin: behind those of `parent`
/// (null for the first one); and how far they go.
void set_row_ids(const model::Snapshot* parent, const std::vector<FileView>& added_data,
                 model::Snapshot& snapshot);

/// What a manifest list says of a manifest of data with these entries.
[[nodiscard]] std::int64_t lowest_row_id(const std::vector<model::ManifestEntry>& entries,
                                         const model::Snapshot& snapshot);

}  // namespace lake::materialize

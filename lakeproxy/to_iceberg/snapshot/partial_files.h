#pragma once

// A flush or merge leaves files that hold rows of several snapshots of the lake. Iceberg
// lists files whole, so the snapshots before the last of them cannot be shown from such
// files. Those that were published before keep what they were published with; the others are
// hidden here. Of a delete file each snapshot gets what it sees, if the file can tell.

#include <vector>

#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::materialize {

/// Delete files that hold deletes of several of `changes`' commits.
[[nodiscard]] std::vector<const model::LakeDeleteFile*> delete_files_to_read(
    const model::LakeChanges& changes);

/// Takes the commits away that see only a part of some file, as the lake has it
/// now, but for delete files among `row_ends`; the next one stands for them. Returns whether there
/// were any.
bool hide_commits(model::LakeChanges& changes);

}  // namespace lake::materialize

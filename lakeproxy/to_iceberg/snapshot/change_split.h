#pragma once

// The lake's rows say from when to when each file counts; Iceberg's manifests
// say what each snapshot added and removed. This turns one into the other.

#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/to_iceberg/snapshot/plan_exports.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

namespace lake::materialize {

/// One change for each of `changes`' commits, oldest first; one that shows
/// nothing new is empty. `exported` holds every file of plan_exports(table, changes).
/// Errors: those of view_data_file(); kInternal  a file was not exported.
[[nodiscard]] base::Result<std::vector<SnapshotChange>> split_changes(
    const model::LakeTable& table, const model::LakeChanges& changes, const ExportPlan& plan,
    const Exported& exported);

/// Whether a snapshot replaced files and changed no row of any table, by the lake's log.
[[nodiscard]] bool rewrites_only(std::string_view changes_made);

}  // namespace lake::materialize

#pragma once

// Which files are to be made for what some changes of a table show.

#include <map>

#include "lakeproxy/derive/plan/export_plan.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::materialize {

/// What build_snapshot() will need for `changes`, under the names of
/// derived_object_names.h.
[[nodiscard]] ExportPlan plan_exports(const model::LakeTable& table,
                                      const model::LakeChanges& changes);

/// The first snapshot at which rows of each data file were deleted.
[[nodiscard]] std::map<model::DataFileId, model::SnapshotId> first_deletes(
    const model::LakeChanges& changes);

}  // namespace lake::materialize

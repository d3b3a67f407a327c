#pragma once

// The two halves of plan_exports(): rows that DuckDB keeps in PostgreSQL, with
// their deletes (inlined_plan.cc), and the deletes of data files (delete_plan.cc).

#include "lakeproxy/to_iceberg/snapshot/plan_exports.h"

namespace lake::materialize {

/// Adds to `plan` the files of inlined rows and of their deletes.
void plan_inlined(const model::LakeTable& table, const model::LakeChanges& changes,
                  ExportPlan& plan);

/// Adds to `plan` the delete files of data files.
void plan_deletes(const model::LakeTable& table, const model::LakeChanges& changes,
                  ExportPlan& plan);

}  // namespace lake::materialize

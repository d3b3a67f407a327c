#include "lakeproxy/to_iceberg/snapshot/plan_exports.h"

#include "lakeproxy/derive/plan/derived_object_names.h"
#include "lakeproxy/iceberg/manifest/format_version.h"
#include "lakeproxy/to_iceberg/snapshot/export_plan_parts.h"

namespace lake::materialize {
namespace {

void join_into_puffin_files(const model::LakeTable& table, ExportPlan& plan) {
  for (DeleteGroup& group : plan.deletes) {
    group.puffin = puffin_beginning(table, group.snapshot);
  }
}

}  // namespace

ExportPlan plan_exports(const model::LakeTable& table, const model::LakeChanges& changes) {
  ExportPlan plan;
  plan_inlined(table, changes, plan);
  plan_deletes(table, changes, plan);
  if (format_version(table.metadata.format_version).deletes == DeleteForm::kDeletionVectors) {
    join_into_puffin_files(table, plan);
  }
  return plan;
}

}  // namespace lake::materialize

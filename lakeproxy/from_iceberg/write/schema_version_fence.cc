#include "lakeproxy/from_iceberg/write/schema_version_fence.h"

#include <algorithm>

#include "lakeproxy/from_iceberg/rows/column_rows.h"

namespace lake::ducklake {
namespace {

constexpr std::int32_t kWithLineage = 3;

// Rows that are written anew leave where they were in the same snapshot.
bool needs_schema_version_fence(const AddedSnapshot& snapshot, std::int32_t format_version) {
  const RowDeletes& deletes = snapshot.deletes;
  const bool returns = std::ranges::any_of(
      deletes.files, [](const FileDeletes& file) { return file.restores == Restores::kRows; });
  if (returns) return true;
  const bool takes = !snapshot.removed.empty() || !deletes.files.empty() || !deletes.groups.empty();
  return format_version >= kWithLineage && takes && !snapshot.files.empty();
}

// Without snapshots there is one delta at most.
bool needs_schema_version_fence(const TableChange& change, std::size_t delta) {
  if (change.restores && delta == 0) return true;
  return delta < change.snapshots.size() &&
         needs_schema_version_fence(change.snapshots[delta], change.after.format_version);
}

base::Result<std::vector<ColumnRow>> columns_after(const TableChange& change,
                                                   const PreconditionRows& preconditions) {
  auto current = read_columns(*preconditions[kOptional]);
  if (!has_new_schema(change)) return current;
  const model::Schema& before = change.before->metadata.current_schema();
  ASSIGN_OR_RETURN(auto wanted, column_rows(change.after.current_schema(), &before));
  return diff_columns(current, std::move(wanted), before).after;
}

}  // namespace

bool needs_schema_version_fence(const TableChange& change) {
  return change.restores || std::ranges::any_of(change.snapshots, [&](const auto& snapshot) {
           return needs_schema_version_fence(snapshot, change.after.format_version);
         });
}

base::Status add_schema_version_fences(const SchemaSql& sql, const TableChange& change,
                                       const LakeHead& head, const PreconditionRows& preconditions,
                                       CommitPlan& plan) {
  const std::int64_t table = change.before->table_id.value;
  LakeHead at = head;
  for (std::size_t i = 0; i < plan.deltas.size(); ++i) {
    LakeDelta& delta = plan.deltas[i];
    if (delta.altered_tables.empty() && needs_schema_version_fence(change, i)) {
      delta.altered_tables.push_back(table);
      if (!preconditions[kInlined]->empty()) {
        // DuckDB keeps small inserts by the newest version of the table.
        ASSIGN_OR_RETURN(auto columns, columns_after(change, preconditions));
        for (auto& query : make_inlined_table(sql, at, table, columns)) {
          delta.queries.push_back(std::move(query));
        }
      }
    }
    at = head_after(at, delta);
  }
  return {};
}

}  // namespace lake::ducklake

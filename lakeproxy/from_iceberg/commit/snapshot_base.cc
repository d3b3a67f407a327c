#include "lakeproxy/from_iceberg/commit/snapshot_base.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::operation {
namespace {

using base::ErrorKind;

// Whether main was once where the requirement wants it.
bool main_was_there(const publish::LoadedTable& loaded,
                    const model::TableRequirement& requirement) {
  const auto* on_ref = std::get_if<model::AssertRefSnapshotId>(&requirement);
  if (on_ref == nullptr || on_ref->ref != model::kMainBranch) return false;
  return !on_ref->snapshot_id || loaded.metadata.find_snapshot(*on_ref->snapshot_id) != nullptr;
}

const model::Snapshot* parent_of(const publish::LoadedTable& loaded, const model::Snapshot& given) {
  if (!given.parent_snapshot_id) return nullptr;
  if (const auto* known = loaded.metadata.find_snapshot(*given.parent_snapshot_id)) return known;
  auto alias = loaded.table.aliases.find(given.parent_snapshot_id->value);
  return alias == loaded.table.aliases.end() ? nullptr
                                             : loaded.metadata.find_snapshot(alias->second);
}

// Whether the commit was decided by what the table's rows are.
bool only_appends(const UpdatePlan& plan) {
  return std::ranges::all_of(plan.snapshots, [](const model::Snapshot& snapshot) {
    return snapshot.operation == model::Operation::kAppend;
  });
}

base::Error moved_on(const model::Snapshot& given) {
  return base::fail(
      ErrorKind::kConflict,
      fmt::format(
          "add-snapshot: parent-snapshot-id {} is not the table's current snapshot",
          given.parent_snapshot_id ? std::to_string(given.parent_snapshot_id->value) : "null"));
}

}  // namespace

Rebase may_rebase(const model::TableMetadata& metadata, const model::TableCommit& commit) {
  bool adds = false;
  for (const model::TableUpdate& update : commit.updates) {
    if (const auto* ref = std::get_if<model::SetSnapshotRef>(&update)) {
      if (ref->name != model::kMainBranch) return Rebase::kNo;
      continue;
    }
    const auto* added = std::get_if<model::AddSnapshot>(&update);
    if (added == nullptr || added->snapshot.operation != model::Operation::kAppend ||
        added->snapshot.schema_id != metadata.current_schema_id) {
      return Rebase::kNo;
    }
    adds = true;
  }
  return adds ? Rebase::kYes : Rebase::kNo;
}

base::Status check_requirements(const publish::LoadedTable& loaded,
                                const model::TableCommit& commit, Rebase rebase) {
  for (const auto& requirement : commit.requirements) {
    auto resolved = resolve_aliases(loaded.table, requirement);
    auto checked = model::check_requirement(&loaded.metadata, resolved);
    if (checked) continue;
    if (rebase == Rebase::kNo || !main_was_there(loaded, resolved)) return checked;
  }
  return {};
}

base::Result<std::string> base_list(const publish::LoadedTable& loaded, const UpdatePlan& plan,
                                    std::size_t i) {
  const model::Snapshot& given = plan.snapshots[i];
  if (loaded.table.aliases.contains(given.snapshot_id.value)) {
    return base::fail(ErrorKind::kConflict,
                      fmt::format("snapshot {} was committed before", given.snapshot_id.value));
  }
  if (i > 0) return plan.snapshots[i - 1].manifest_list;
  if (plan.clears_main) return std::string();
  const model::Snapshot* parent = parent_of(loaded, given);
  if (given.parent_snapshot_id && parent == nullptr) return moved_on(given);
  const model::Snapshot* current = loaded.metadata.current_snapshot();
  if (parent != current && !only_appends(plan)) return moved_on(given);
  return parent != nullptr ? parent->manifest_list : std::string();
}

}  // namespace lake::operation

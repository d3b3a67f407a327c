#include "lakeproxy/operation/update_plan.h"

#include <fmt/format.h>

#include <optional>

#include "lakeproxy/model/metadata_change.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using namespace model;

base::Error not_offered(std::string_view action) {
  return base::fail(ErrorKind::kUnsupported, fmt::format("{}: not supported", action));
}

// Applies one update after another; one overload for each kind.
class Updater {
 public:
  Updater(const LakeTable* table, const TableMetadata& metadata) : table_(table) {
    plan_.after = metadata;
  }

  base::Status operator()(const AssignUuid& update) {
    if (table_ == nullptr) plan_.after.table_uuid = update.uuid;
    return {};
  }
  base::Status operator()(const UpgradeFormatVersion& update) {
    return set_format_version(plan_.after, update.format_version);
  }
  base::Status operator()(const AddSchema& update) {
    auto check = plan_.after.current_snapshot_id || !plan_.snapshots.empty()
                     ? SchemaCheck::kEvolution
                     : SchemaCheck::kReplacement;
    ASSIGN_OR_RETURN(schema_, add_schema(plan_.after, update.schema, check));
    return {};
  }
  base::Status operator()(const SetCurrentSchema& update) {
    ASSIGN_OR_RETURN(auto id, resolve_last_added(update.schema_id, schema_, "schema"));
    return set_current_schema(plan_.after, id);
  }
  base::Status operator()(const RemoveSchemas&) { return not_offered("remove-schemas"); }
  base::Status operator()(const AddPartitionSpec& update) {
    ASSIGN_OR_RETURN(spec_, add_spec(plan_.after, update.spec));
    return {};
  }
  base::Status operator()(const SetDefaultSpec& update) {
    ASSIGN_OR_RETURN(auto id, resolve_last_added(update.spec_id, spec_, "partition spec"));
    return set_default_spec(plan_.after, id);
  }
  base::Status operator()(const RemovePartitionSpecs&) {
    return not_offered("remove-partition-specs");
  }
  base::Status operator()(const AddSortOrder& update) {
    ASSIGN_OR_RETURN(order_, add_sort_order(plan_.after, update.order));
    return {};
  }
  base::Status operator()(const SetDefaultSortOrder& update) {
    ASSIGN_OR_RETURN(auto id, resolve_last_added(update.order_id, order_, "sort order"));
    return set_default_sort_order(plan_.after, id);
  }
  base::Status operator()(const AddSnapshot& update) {
    plan_.snapshots.push_back(update.snapshot);
    return {};
  }
  base::Status operator()(const SetSnapshotRef& update);
  base::Status operator()(const RemoveSnapshots&) { return not_offered("remove-snapshots"); }
  base::Status operator()(const RemoveSnapshotRef& update) {
    if (update.name == kMainBranch) return clear_main();
    plan_.after.refs.erase(update.name);
    return {};
  }
  base::Status operator()(const SetLocation& update);
  base::Status operator()(const SetProperties& update) {
    return set_properties(plan_.after, update.updates);
  }
  base::Status operator()(const RemoveProperties& update) {
    return remove_properties(plan_.after, update.removals);
  }
  // Accepted and without effect: specification, section 3.4.
  base::Status operator()(const SetStatistics&) { return {}; }
  base::Status operator()(const RemoveStatistics&) { return {}; }
  base::Status operator()(const SetPartitionStatistics&) {
    return not_offered("set-partition-statistics");
  }
  base::Status operator()(const RemovePartitionStatistics&) {
    return not_offered("remove-partition-statistics");
  }

  base::Result<UpdatePlan> finish();

 private:
  [[nodiscard]] std::optional<SnapshotId> resolve(SnapshotId id) const;
  [[nodiscard]] bool is_new(SnapshotId id) const;
  base::Status set_main(SnapshotId id);
  base::Status clear_main();

  const LakeTable* table_;
  UpdatePlan plan_;
  std::optional<std::int32_t> schema_, spec_, order_;
  std::size_t on_main_ = 0;  ///< So many of the new snapshots are on main.
};

bool Updater::is_new(SnapshotId id) const {
  for (const Snapshot& snapshot : plan_.snapshots) {
    if (snapshot.snapshot_id == id) return true;
  }
  return false;
}

std::optional<SnapshotId> Updater::resolve(SnapshotId id) const {
  if (plan_.after.find_snapshot(id) != nullptr) return id;
  if (table_ == nullptr) return std::nullopt;
  auto alias = table_->aliases.find(id.value);
  if (alias == table_->aliases.end()) return std::nullopt;
  return alias->second;
}

base::Status Updater::set_main(SnapshotId id) {
  if (!plan_.snapshots.empty() && plan_.snapshots.back().snapshot_id == id) {
    on_main_ = plan_.snapshots.size();
    return {};
  }
  auto resolved = resolve(id);
  if (!resolved && !is_new(id)) {
    return base::fail(ErrorKind::kInvalid,
                      fmt::format("set-snapshot-ref main: snapshot {} does not exist", id.value));
  }
  if (!resolved) return not_offered("set-snapshot-ref main to a snapshot that is not the last");
  plan_.restores.reset();
  if (resolved != plan_.after.current_snapshot_id) plan_.restores = resolved;
  return {};
}

base::Status Updater::clear_main() {
  if (!plan_.snapshots.empty()) {
    return not_offered("remove-snapshot-ref main after a new snapshot");
  }
  // A new table has none.
  plan_.clears_main = table_ != nullptr && plan_.after.current_snapshot_id.has_value();
  plan_.after.current_snapshot_id.reset();
  plan_.after.refs.erase(std::string(kMainBranch));
  return {};
}

base::Status Updater::operator()(const SetSnapshotRef& update) {
  if (update.name == kMainBranch) return set_main(update.ref.snapshot_id);
  auto resolved = resolve(update.ref.snapshot_id);
  if (!resolved) {
    if (is_new(update.ref.snapshot_id)) return not_offered("a write to a branch other than main");
    return base::fail(ErrorKind::kInvalid,
                      fmt::format("set-snapshot-ref {}: snapshot {} does not exist", update.name,
                                  update.ref.snapshot_id.value));
  }
  SnapshotRef ref = update.ref;
  ref.snapshot_id = *resolved;
  plan_.after.refs[update.name] = ref;
  return {};
}

base::Status Updater::operator()(const SetLocation& update) {
  std::string location = update.location;
  while (location.ends_with('/')) location.pop_back();
  if (table_ == nullptr && plan_.after.location.empty()) {
    plan_.after.location = location;
    return {};
  }
  // A table that is replaced stays where it is: as at its creation, its place
  // follows the server's own rule.
  if (location == plan_.after.location || plan_.clears_main) return {};
  return not_offered("set-location");
}

base::Result<UpdatePlan> Updater::finish() {
  if (on_main_ != plan_.snapshots.size()) {
    return not_offered("a snapshot that main does not point to");
  }
  if (plan_.restores && !plan_.snapshots.empty()) {
    return not_offered("a new snapshot on top of an older one");
  }
  RETURN_IF_ERROR(check_default_columns(plan_.after));
  return std::move(plan_);
}

}  // namespace

base::Result<UpdatePlan> plan_updates(const LakeTable* table, const TableMetadata& metadata,
                                      const std::vector<TableUpdate>& updates) {
  Updater updater(table, metadata);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    base::Status applied = std::visit(updater, updates[i]);
    if (!applied) return std::move(applied).error().with_context(fmt::format("updates[{}]", i));
  }
  return updater.finish();
}

TableRequirement resolve_aliases(const LakeTable& table, TableRequirement requirement) {
  auto* on_ref = std::get_if<AssertRefSnapshotId>(&requirement);
  if (on_ref == nullptr || !on_ref->snapshot_id) return requirement;
  auto alias = table.aliases.find(on_ref->snapshot_id->value);
  if (alias != table.aliases.end()) on_ref->snapshot_id = alias->second;
  return requirement;
}

}  // namespace lake::operation

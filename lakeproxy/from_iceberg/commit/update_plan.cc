#include "lakeproxy/from_iceberg/commit/update_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using namespace model;

// Not negative ids are the lake's.
constexpr SnapshotId kNoSnapshot{-1};

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
  base::Status operator()(const RemoveSchemas& update) {
    plan_.removed_schemas.insert(update.schema_ids.begin(), update.schema_ids.end());
    return remove_schemas(plan_.after, update.schema_ids);
  }
  base::Status operator()(const AddPartitionSpec& update);
  base::Status operator()(const SetDefaultSpec& update) {
    ASSIGN_OR_RETURN(auto id, resolve_last_added(update.spec_id, spec_, "partition spec"));
    return set_default_spec(plan_.after, id);
  }
  base::Status operator()(const RemovePartitionSpecs& update) {
    plan_.removed_specs.insert(update.spec_ids.begin(), update.spec_ids.end());
    return remove_specs(plan_.after, update.spec_ids,
                        table_ == nullptr ? 0 : table_->version.revision + 1);
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
    const model::SnapshotId id = update.snapshot.snapshot_id;
    if (std::ranges::find(plan_.snapshots, id, &model::Snapshot::snapshot_id) !=
        plan_.snapshots.end()) {
      return base::fail(base::ErrorKind::kInvalid,
                        fmt::format("add-snapshot: snapshot-id {} is added twice", id.value));
    }
    plan_.snapshots.push_back(update.snapshot);
    return {};
  }
  base::Status operator()(const SetSnapshotRef& update);
  base::Status operator()(const RemoveSnapshots& update);
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
  base::Status operator()(const SetStatistics& update) {
    return keep("set-statistics", update.statistics, plan_.after.statistics);
  }
  base::Status operator()(const RemoveStatistics& update) {
    remove_statistics(plan_.after.statistics, resolve(update.snapshot_id).value_or(kNoSnapshot));
    return {};
  }
  base::Status operator()(const SetPartitionStatistics& update) {
    return keep("set-partition-statistics", update.statistics, plan_.after.partition_statistics);
  }
  base::Status operator()(const RemovePartitionStatistics& update) {
    remove_statistics(plan_.after.partition_statistics,
                      resolve(update.snapshot_id).value_or(kNoSnapshot));
    return {};
  }

  base::Result<UpdatePlan> finish();

 private:
  [[nodiscard]] std::optional<SnapshotId> resolve(SnapshotId id) const;
  [[nodiscard]] bool is_new(SnapshotId id) const;
  base::Status set_main(const SnapshotRef& ref);
  base::Status clear_main();
  base::Status keep(std::string_view action, const base::json::Value& file,
                    std::vector<base::json::Value>& files);
  base::Status hide_snapshots();
  base::Status check_schemas_unused() const;

  const LakeTable* table_;
  UpdatePlan plan_;
  std::optional<std::int32_t> schema_, spec_, order_;
  std::size_t on_main_ = 0;  ///< So many of the new snapshots are on main.
  std::set<SnapshotId> removed_;
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
  if (plan_.after.find_snapshot(alias->second) == nullptr) return std::nullopt;
  return alias->second;
}

base::Status Updater::set_main(const SnapshotRef& ref) {
  const SnapshotId id = ref.snapshot_id;
  if (ref.type != RefType::kBranch) {
    return base::fail(ErrorKind::kInvalid, "set-snapshot-ref main: must be a branch");
  }
  SnapshotRef& main = plan_.after.refs[std::string(kMainBranch)];
  main = ref;
  main.snapshot_id = plan_.after.current_snapshot_id.value_or(SnapshotId(0));
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
  if (update.name == kMainBranch) return set_main(update.ref);
  auto resolved = resolve(update.ref.snapshot_id);
  // finish() sees to it that a new one is main's, too.
  if (!resolved && is_new(update.ref.snapshot_id)) resolved = update.ref.snapshot_id;
  if (!resolved) {
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

base::Status Updater::operator()(const AddPartitionSpec& update) {
  const std::int32_t given = update.spec.spec_id;
  const bool is_free = !plan_.after.shows_spec(given);
  ASSIGN_OR_RETURN(spec_, add_spec(plan_.after, update.spec));
  if (is_free && *spec_ != given) plan_.spec_ids.insert_or_assign(given, *spec_);
  return {};
}

base::Status Updater::operator()(const RemoveSnapshots& update) {
  for (SnapshotId id : update.snapshot_ids) {
    if (is_new(id)) return not_offered("remove-snapshots of one that the same commit adds");
    if (auto resolved = resolve(id)) removed_.insert(*resolved);
  }
  return {};
}

base::Status Updater::keep(std::string_view action, const base::json::Value& file,
                           std::vector<base::json::Value>& files) {
  const SnapshotId id = statistics_snapshot(file).value_or(kNoSnapshot);
  auto resolved = resolve(id);
  if (!resolved && !is_new(id)) {
    return base::fail(ErrorKind::kInvalid,
                      fmt::format("{}: snapshot {} does not exist", action, id.value));
  }
  set_statistics(files, file, resolved.value_or(id));
  return {};
}

// Refs may change before and after the snapshots go: only the end counts.
base::Status Updater::hide_snapshots() {
  if (removed_.empty()) return {};
  // Where main moves on, the snapshot that it was at may go.
  const auto current = plan_.after.current_snapshot_id;
  if (!plan_.snapshots.empty() || plan_.restores) plan_.after.current_snapshot_id.reset();
  RETURN_IF_ERROR(remove_snapshots(plan_.after, removed_));
  plan_.after.current_snapshot_id = current;
  if (table_ != nullptr) {
    plan_.after.out_of_sight.snapshots =
        hidden_ranges(table_->materialized, plan_.after.snapshots, table_->version.snapshot);
  }
  return {};
}

base::Status Updater::check_schemas_unused() const {
  if (plan_.removed_schemas.empty()) return {};
  for (const Snapshot& snapshot : plan_.after.snapshots) {
    if (!snapshot.schema_id || !plan_.removed_schemas.contains(*snapshot.schema_id)) continue;
    return base::fail(ErrorKind::kConflict,
                      fmt::format("remove-schemas: schema {} is that of snapshot {}",
                                  *snapshot.schema_id, snapshot.snapshot_id.value));
  }
  return {};
}

base::Result<UpdatePlan> Updater::finish() {
  if (on_main_ != plan_.snapshots.size()) {
    return not_offered("a snapshot that main does not point to, as a write to another branch is");
  }
  if (plan_.restores && !plan_.snapshots.empty()) {
    return not_offered("a new snapshot on top of an older one");
  }
  RETURN_IF_ERROR(check_default_columns(plan_.after));
  RETURN_IF_ERROR(hide_snapshots());
  RETURN_IF_ERROR(check_schemas_unused());
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

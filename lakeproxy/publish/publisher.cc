#include "lakeproxy/publish/publisher.h"

#include <algorithm>

#include "base/runtime/gather.h"
#include "lakeproxy/materialize/snapshot/change_split.h"
#include "lakeproxy/materialize/snapshot/export_plan.h"
#include "lakeproxy/publish/partial_looks.h"
#include "lakeproxy/publish/stale_vectors.h"

namespace lake::publish {
namespace {

// Objects that wait to be put together: enough to keep the store busy, few
// enough to stay small.
constexpr std::size_t kPutsAtOnce = 32;

const model::Snapshot* last_snapshot(const model::LakeTable& table) {
  return table.materialized.empty() ? nullptr : &table.materialized.back();
}

bool is_float(const model::LakeTable& table, model::FieldId column) {
  for (const model::Schema& schema : table.metadata.schemas) {
    const model::Field* field = schema.find(column);
    if (field == nullptr) continue;
    if (field->type.kind() == model::TypeKind::kFloat ||
        field->type.kind() == model::TypeKind::kDouble) {
      return true;
    }
  }
  return false;
}

// Columns whose NaN count only a look into the file tells.
std::vector<model::FieldId> uncounted(const model::LakeTable& table,
                                      const model::LakeDataFile& file) {
  std::vector<model::FieldId> columns;
  if (file.iceberg) return columns;  // Its client said what it knows.
  for (const auto& stats : file.stats) {
    bool none = stats.contains_nan == false || stats.null_count == file.record_count;
    if (!none && !stats.nan_count && is_float(table, stats.column_id)) {
      columns.push_back(stats.column_id);
    }
  }
  return columns;
}

void note_hidden_specs(const model::LakeTable& table,
                       const std::vector<materialize::ListedManifest>& list,
                       std::set<std::int32_t>& needed) {
  const auto& hidden = table.metadata.out_of_sight.specs;
  if (hidden.empty()) return;
  for (const auto& listed : list) {
    const std::int32_t spec = listed.manifest.partition_spec_id;
    if (hidden.contains(spec)) needed.insert(spec);
  }
}

}  // namespace

base::Task<base::Status> Publisher::complete_nan_counts(base::RequestContext context,
                                                        const model::LakeTable* table,
                                                        model::LakeChanges* changes) {
  std::vector<ducklake::LakeWriter::NanCount> made;
  for (auto& [id, file] : changes->data_files) {
    if (materialize::shown_before(*changes, file.begin)) continue;
    auto columns = uncounted(*table, file);
    if (columns.empty()) continue;
    CO_ASSIGN_OR_RETURN(auto counts, co_await exporter_->count_nans(context, file.path, columns));
    for (auto& stats : file.stats) {
      auto count = counts.find(stats.column_id);
      if (count == counts.end()) continue;
      stats.nan_count = count->second;
      made.push_back({id, stats.column_id, count->second});
    }
  }
  if (made.empty()) co_return base::Status{};
  co_return co_await writer_->record_nan_counts(context, std::move(made));
}

base::Task<base::Result<std::vector<materialize::ListedManifest>>> Publisher::last_list(
    base::RequestContext context, const model::LakeTable* table) {
  std::vector<materialize::ListedManifest> list;
  const model::Snapshot* last = last_snapshot(*table);
  if (last == nullptr) co_return list;
  CO_ASSIGN_OR_RETURN(auto files, co_await manifests_->list(context, last->manifest_list));
  for (const auto& file : *files) list.push_back({file, nullptr});
  co_return list;
}

base::Task<base::Status> Publisher::read_entries(base::RequestContext context,
                                                 std::vector<materialize::ListedManifest>* list,
                                                 std::vector<std::size_t> positions) {
  std::vector<base::Task<base::Result<materialize::Entries>>> reads;
  for (std::size_t i : positions) {
    reads.push_back(manifests_->entries(context, (*list)[i].manifest.manifest_path));
  }
  auto results = co_await base::gather(std::move(reads));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (!results[i]) co_return std::move(results[i]).error();
    (*list)[positions[i]].entries = std::move(*results[i]);
  }
  co_return base::Status{};
}

base::Task<base::Result<Publisher::Built>> Publisher::build_all(
    base::RequestContext context, const model::LakeTable* table,
    std::vector<materialize::SnapshotChange> changes) {
  CO_ASSIGN_OR_RETURN(auto list, co_await last_list(context, table));
  Built all;
  auto& [snapshots, objects, into_sight] = all;
  const model::Snapshot* parent = last_snapshot(*table);
  StaleVectors vectors(*exporter_, *manifests_);
  snapshots.reserve(changes.size());
  for (auto& change : changes) {
    // Timestamps grow along the log, whatever the clocks of the writers say.
    if (parent != nullptr) {
      change.timestamp_ms = std::max(change.timestamp_ms, parent->timestamp_ms + 1);
    }
    CO_RETURN_IF_ERROR(
        co_await read_entries(context, &list, materialize::manifests_to_read(list, change)));
    CO_RETURN_IF_ERROR(co_await vectors.move_live(context, table, &list, &change));
    materialize::BuildContext build{table, parent};
    CO_ASSIGN_OR_RETURN(auto built, materialize::build_snapshot(build, std::move(list), change));
    manifests_->remember(built);
    std::ranges::move(built.objects, std::back_inserter(objects));
    list = std::move(built.list);
    note_hidden_specs(*table, list, into_sight);
    snapshots.push_back(std::move(built.snapshot));
    parent = &snapshots.back();
    if (objects.size() < kPutsAtOnce) continue;
    CO_RETURN_IF_ERROR(co_await manifests_->put(context, std::exchange(objects, {})));
  }
  co_return all;
}

base::Task<base::Result<model::LakeChanges>> Publisher::read_pending(
    base::RequestContext context, const model::LakeTable* table) {
  std::optional<model::SnapshotId> after;
  if (const auto* last = last_snapshot(*table)) after = last->snapshot_id;
  CO_ASSIGN_OR_RETURN(auto changes,
                      co_await reader_->read_changes(context, table, after, table->pending.back()));
  // Others may have committed since the table was read.
  std::erase_if(changes.commits, [&](const model::LakeCommit& commit) {
    return !std::ranges::binary_search(table->pending, commit.snapshot);
  });
  co_return changes;
}

base::Task<base::Result<Publisher::Built>> Publisher::build_pending(base::RequestContext context,
                                                                    const model::LakeTable* table,
                                                                    model::LakeChanges changes) {
  CO_RETURN_IF_ERROR(co_await look_into_partial_files(context, exporter_, &changes));
  CO_RETURN_IF_ERROR(co_await complete_nan_counts(context, table, &changes));
  auto plan = materialize::plan_exports(*table, changes);
  materialize::Exported exported;
  if (!plan.empty()) {
    CO_ASSIGN_OR_RETURN(exported, co_await exporter_->make(context, &plan));
  }
  CO_ASSIGN_OR_RETURN(auto split, materialize::split_changes(*table, changes, plan, exported));
  co_return co_await build_all(context, table, std::move(split));
}

base::Task<base::Result<Publisher::Prepared>> Publisher::prepare(
    base::RequestContext context, model::LakeTable table, std::optional<model::LakeChanges> changes,
    TableViewPtr before) {
  auto trail = std::make_shared<Trail>();
  trail->published.table = table.table_id;
  trail->published.epoch = table.epoch;
  trail->published.format_version = table.metadata.format_version;
  Built built;
  if (!table.pending.empty()) {
    if (!changes) {
      CO_ASSIGN_OR_RETURN(changes, co_await read_pending(context, &table));
    }
    CO_ASSIGN_OR_RETURN(built, co_await build_pending(context, &table, std::move(*changes)));
    for (const auto& snapshot : built.snapshots) table.materialized.push_back(snapshot);
    table.pending.clear();
    for (std::int32_t spec : built.into_sight) table.metadata.out_of_sight.specs.erase(spec);
  }
  trail->published.snapshots = std::move(built.snapshots);
  trail->published.into_sight = std::move(built.into_sight);
  std::int64_t known_files = table.metadata_sequence;
  TableViewPtr view = make_view(std::move(table), before, config_);
  if (view->metadata_sequence > known_files) {
    trail->published.metadata_sequence = view->metadata_sequence;
    trail->published.metadata_file = {view->metadata.last_updated_ms, view->metadata_location};
  }
  co_return Prepared{{std::move(view), std::move(trail)}, std::move(built.objects)};
}

base::Task<void> Publisher::reached(ducklake::CommitStep step) {
  if (steps_ != nullptr) co_await (*steps_)(step);
}

base::Task<base::Status> Publisher::record(base::RequestContext context,
                                           std::shared_ptr<Trail> trail) {
  CO_ASSIGN_OR_RETURN(bool ours, co_await writer_->record_published(context, trail->published));
  if (!ours) {
    co_return base::fail(base::ErrorKind::kConflict, "another server published the table")
        .with_reason(ducklake::kStale);
  }
  trail->done = true;
  co_return base::Status{};
}

base::Task<base::Result<TableViewPtr>> Publisher::publish(base::RequestContext context,
                                                          model::LakeTable table,
                                                          TableViewPtr before) {
  CO_ASSIGN_OR_RETURN(auto prepared,
                      co_await prepare(context, std::move(table), std::nullopt, before));
  const auto& [view, trail] = prepared.publication;
  if (trail->published.metadata_file) {
    prepared.objects.push_back({view->metadata_location, std::string(view->document())});
  }
  // Nobody is told of the view before all that it names is there.
  CO_RETURN_IF_ERROR(co_await manifests_->put(context, std::move(prepared.objects)));
  if (!trail->published.snapshots.empty()) co_await reached(ducklake::CommitStep::kListed);
  if (trail->published.metadata_file) co_await reached(ducklake::CommitStep::kFilePut);
  CO_RETURN_IF_ERROR(co_await record(context, trail));
  if (trail->published.metadata_file) co_await reached(ducklake::CommitStep::kRecorded);
  co_return view;
}

base::Task<base::Result<Publication>> Publisher::publish_known(base::RequestContext context,
                                                               model::LakeTable table,
                                                               model::LakeChanges changes,
                                                               TableViewPtr before) {
  CO_ASSIGN_OR_RETURN(auto prepared,
                      co_await prepare(context, std::move(table), std::move(changes), before));
  CO_RETURN_IF_ERROR(co_await manifests_->put(context, std::move(prepared.objects)));
  co_await reached(ducklake::CommitStep::kListed);
  co_return std::move(prepared.publication);
}

base::Task<base::Status> Publisher::finish(base::RequestContext context, Publication publication) {
  const auto& [view, trail] = publication;
  if (trail->done) co_return base::Status{};
  if (trail->published.metadata_file) {
    std::vector<materialize::NewObject> file;
    file.push_back({view->metadata_location, std::string(view->document())});
    CO_RETURN_IF_ERROR(co_await manifests_->put(context, std::move(file)));
    co_await reached(ducklake::CommitStep::kFilePut);
  }
  CO_RETURN_IF_ERROR(co_await record(context, trail));
  co_await reached(ducklake::CommitStep::kRecorded);
  co_return base::Status{};
}

}  // namespace lake::publish

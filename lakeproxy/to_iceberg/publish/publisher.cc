#include "lakeproxy/to_iceberg/publish/publisher.h"

#include <algorithm>

#include "base/runtime/gather.h"
#include "lakeproxy/to_iceberg/publish/footer_check.h"
#include "lakeproxy/to_iceberg/publish/table_at.h"
#include "lakeproxy/to_iceberg/snapshot/change_split.h"
#include "lakeproxy/to_iceberg/snapshot/data_file_view.h"
#include "lakeproxy/to_iceberg/snapshot/partial_files.h"
#include "lakeproxy/to_iceberg/snapshot/plan_exports.h"
#include "lakeproxy/to_iceberg/snapshot/rebase.h"

namespace lake::publish {

using ducklake::CommitStep;

namespace {

constexpr base::AtOnce kDeleteFilesAtOnce{8};

// Partial delete files hold deletes of several snapshots. Each is read once, before these
// snapshots are published: the lake's rows do not say which delete is of which. Adds to `changes`
// the end of each deleted row, as the files have it.
base::Task<base::Status> read_partial_delete_files(base::RequestContext context,
                                                   exporter::Exporter* exporter,
                                                   model::LakeChanges* changes) {
  const auto wanted = materialize::delete_files_to_read(*changes);
  auto read = [&](std::size_t i) { return exporter->row_ends(context, wanted[i]); };
  auto keep = [&](std::size_t i, std::shared_ptr<const model::RowEnds> ends) {
    if (ends) changes->row_ends.emplace(wanted[i]->id, std::move(ends));
    return base::Status{};
  };
  co_return co_await base::gather_few(kDeleteFilesAtOnce, wanted.size(), read, keep);
}

// There is nothing to put either.
bool is_nothing(const ducklake::Published& published) {
  return published.snapshots.empty() && published.into_sight.empty() && !published.metadata_file;
}

std::optional<model::SnapshotId> newest_published(const model::LakeTable& table) {
  if (table.materialized.empty()) return std::nullopt;
  return table.materialized.back().snapshot_id;
}

// Another server may have given it its id since the table was read.
void show_unpartitioned_spec(std::int32_t id, model::LakeTable& table) {
  table.unpartitioned_spec_id = id;
  if (table.metadata.find_spec(id) == nullptr) table.metadata.partition_specs.push_back({id, {}});
}

// The columns of now may not be those that the newest published snapshot has files for.
void show_as_of_last(model::LakeTable& table) {
  auto after = table.schema_at.upper_bound(table.materialized.back().snapshot_id);
  if (after == table.schema_at.begin()) return;
  table.metadata.current_schema_id = std::prev(after)->second;
  fit_defaults(table, table.metadata);
}

}  // namespace

base::Task<base::Result<model::LakeChanges>> Publisher::read_pending(
    base::RequestContext context, const model::LakeTable* table) {
  CO_ASSIGN_OR_RETURN(auto changes,
                      co_await tools_.reader->read_changes(context, table, newest_published(*table),
                                                           table->pending.back()));
  // Others may have committed since the table was read.
  std::erase_if(changes.commits, [&](const model::LakeCommit& commit) {
    return !std::ranges::binary_search(table->pending, commit.snapshot);
  });
  co_return changes;
}

void Publisher::hide_unpublished(const base::RequestContext& context, const model::LakeTable& table,
                                 model::LakeChanges& changes) const {
  const bool hides = materialize::hide_commits(changes);
  if (changes.commits.empty() || !log_) return;
  const model::SnapshotId first = changes.commits.front().snapshot;
  const bool passes_over = changes.first_row_change && *changes.first_row_change < first;
  if (!hides && !passes_over) return;
  log_->for_request(context.request_id)
      .info(
          "snapshots of a table are not shown: their files were replaced before they were "
          "published",
          {{"table", table.name},
           {"after", changes.published.value_or(model::SnapshotId(-1)).value},
           {"first_shown", first.value}});
}

base::Task<base::Result<std::vector<materialize::SnapshotChange>>> Publisher::split_changes(
    base::RequestContext context, model::LakeTable* table, const model::LakeChanges* changes,
    const materialize::ExportPlan* plan, const materialize::Exported* exported) {
  auto split = materialize::split_changes(*table, *changes, *plan, *exported);
  if (split || split.error().reason() != materialize::kNoUnpartitionedSpec) co_return split;
  CO_ASSIGN_OR_RETURN(const std::int32_t id, co_await tools_.reader->assign_unpartitioned_spec(
                                                 context, table->table_id, table->version));
  show_unpartitioned_spec(id, *table);
  co_return materialize::split_changes(*table, *changes, *plan, *exported);
}

base::Task<base::Result<SnapshotSeries>> Publisher::build_pending(base::RequestContext context,
                                                                  model::LakeTable* table,
                                                                  model::LakeChanges changes) {
  CO_RETURN_IF_ERROR(co_await read_partial_delete_files(context, tools_.exporter, &changes));
  hide_unpublished(context, *table, changes);
  CO_RETURN_IF_ERROR(check_failed_copies(*table, changes));
  const std::string& schema = tools_.writer->lake().metadata_schema;
  CO_RETURN_IF_ERROR(wait_for_copies(tools_.copies, schema, *table, changes));
  if (changes.commits.empty()) co_return SnapshotSeries();
  std::vector<materialize::ListedManifest> list;
  if (changes.published) {
    CO_ASSIGN_OR_RETURN(list, co_await published_files(context, tools_.manifests, table));
  }
  auto with_null = required_with_null(*table, list, changes);
  if (!with_null.empty()) {
    co_return co_await tools_.reader->store_nulls(context, table->table_id, table->version,
                                                  std::move(with_null));
  }
  CO_ASSIGN_OR_RETURN(const bool unlike,
                      co_await check_footers(context, tools_.exporter, table, &list, &changes));
  if (unlike) CO_RETURN_IF_ERROR(wait_for_copies(tools_.copies, schema, *table, changes));
  if (changes.commits.empty()) co_return SnapshotSeries();
  std::optional<materialize::Rebase> rebase;
  if (changes.published) {
    rebase.emplace(list, changes);
    rebase->leave_out_known(changes);
  }
  CO_RETURN_IF_ERROR(co_await complete_nan_counts(context, tools_.nan_counting, tools_.counter,
                                                  tools_.writer, table, &changes));
  auto plan = materialize::plan_exports(*table, changes);
  if (rebase) rebase->leave_out_known(plan);
  materialize::Exported exported;
  if (!plan.empty()) {
    CO_ASSIGN_OR_RETURN(exported, co_await tools_.exporter->make(context, &plan));
  }
  CO_ASSIGN_OR_RETURN(auto split,
                      co_await split_changes(context, table, &changes, &plan, &exported));
  if (rebase) rebase->apply(changes, split.front());
  co_return co_await build_series(context, tools_.manifests, tools_.exporter, table,
                                  std::move(split));
}

base::Task<base::Result<Publisher::Prepared>> Publisher::prepare(
    base::RequestContext context, model::LakeTable table, std::optional<model::LakeChanges> changes,
    LoadedTablePtr before) {
  ducklake::Published published{.metadata_schema = tools_.writer->lake().metadata_schema,
                                .table = table.table_id,
                                .read_at = table.version,
                                .built_on = newest_published(table),
                                .format_version = table.metadata.format_version};
  published.replaces_files =
      !table.pending.empty() && (table.materialized.empty() || table.replaced_since_published());
  SnapshotSeries built;
  if (!table.pending.empty()) {
    if (!changes) {
      CO_ASSIGN_OR_RETURN(changes, co_await read_pending(context, &table));
    }
    CO_ASSIGN_OR_RETURN(built, co_await build_pending(context, &table, std::move(*changes)));
    for (const auto& snapshot : built.snapshots) table.materialized.push_back(snapshot);
    table.pending.clear();
    if (table.waits_for_copies) show_as_of_last(table);
    for (std::int32_t spec : built.into_sight) table.metadata.out_of_sight.specs.erase(spec);
  }
  published.snapshots = std::move(built.snapshots);
  published.into_sight = std::move(built.into_sight);
  std::int64_t known_files = table.metadata_sequence;
  std::shared_ptr<LoadedTable> loaded = make_loaded_table(std::move(table), before);
  if (loaded->metadata_sequence > known_files) {
    published.metadata_sequence = loaded->metadata_sequence;
    published.metadata_file = {loaded->metadata.last_updated_ms, loaded->metadata_location};
  }
  loaded->pending_record = std::make_shared<PendingRecord>(
      std::move(published), before ? before->pending_record : nullptr);
  if (is_nothing(loaded->pending_record->published()) && !loaded->pending_record->before()) {
    loaded->pending_record->record();
  }
  co_return Prepared{std::move(loaded), std::move(built.objects)};
}

base::Task<base::Status> Publisher::put(base::RequestContext context, Prepared* prepared) {
  const LoadedTable& loaded = *prepared->loaded;
  if (loaded.pending_record->published().metadata_file) {
    prepared->objects.push_back(
        {loaded.metadata_location, std::string(loaded.document()), loaded.document_sha256});
  }
  if (prepared->objects.empty()) co_return base::Status{};
  CO_RETURN_IF_ERROR(co_await tools_.manifests->put(context, std::move(prepared->objects)));
  co_await reached(tools_.steps, CommitStep::kPut);
  co_return base::Status{};
}

base::Task<base::Status> Publisher::record(LoadedTablePtr loaded, RecordTime time) {
  if (loaded->pending_record == nullptr || loaded->pending_record->is_recorded()) {
    co_return base::Status{};
  }
  CO_RETURN_IF_ERROR(co_await tools_.records->record(loaded->pending_record, time));
  if (loaded->pending_record->published().metadata_file) {
    co_await reached(tools_.steps, CommitStep::kRecorded);
  }
  co_return base::Status{};
}

base::Task<base::Result<LoadedTablePtr>> Publisher::publish(base::RequestContext context,
                                                            model::LakeTable table,
                                                            LoadedTablePtr before) {
  CO_ASSIGN_OR_RETURN(auto prepared,
                      co_await prepare(context, std::move(table), std::nullopt, before));
  CO_RETURN_IF_ERROR(co_await put(context, &prepared));
  std::shared_ptr<LoadedTable> loaded = std::move(prepared.loaded);
  // Of two servers that publish a table at once the record decides whose publication counts.
  auto recorded = co_await record(loaded, RecordTime::kNow);
  if (!recorded && recorded.error().reason() == ducklake::kStale) {
    co_return std::move(recorded).error();
  }
  // The first one of a long history holds all its snapshots once more.
  if (recorded) loaded->pending_record = nullptr;
  co_return LoadedTablePtr(std::move(loaded));
}

base::Task<base::Result<LoadedTablePtr>> Publisher::publish_committed(
    base::RequestContext context, model::LakeTable table, std::optional<model::LakeChanges> changes,
    LoadedTablePtr before) {
  CO_ASSIGN_OR_RETURN(auto prepared,
                      co_await prepare(context, std::move(table), std::move(changes), before));
  CO_RETURN_IF_ERROR(co_await put(context, &prepared));
  co_return LoadedTablePtr(std::move(prepared.loaded));
}

}  // namespace lake::publish

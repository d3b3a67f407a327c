#include "lakeproxy/publish/publisher.h"

#include <algorithm>

#include "lakeproxy/materialize/snapshot/change_split.h"
#include "lakeproxy/materialize/snapshot/export_plan.h"
#include "lakeproxy/publish/mapped_looks.h"
#include "lakeproxy/publish/partial_looks.h"

namespace lake::publish {

using ducklake::CommitStep;

base::Task<base::Result<model::LakeChanges>> Publisher::read_pending(
    base::RequestContext context, const model::LakeTable* table) {
  std::optional<model::SnapshotId> after;
  if (!table->materialized.empty()) after = table->materialized.back().snapshot_id;
  CO_ASSIGN_OR_RETURN(auto changes,
                      co_await reader_->read_changes(context, table, after, table->pending.back()));
  // Others may have committed since the table was read.
  std::erase_if(changes.commits, [&](const model::LakeCommit& commit) {
    return !std::ranges::binary_search(table->pending, commit.snapshot);
  });
  co_return changes;
}

base::Task<base::Result<SnapshotSeries>> Publisher::build_pending(base::RequestContext context,
                                                                  const model::LakeTable* table,
                                                                  model::LakeChanges changes) {
  CO_RETURN_IF_ERROR(co_await look_into_mapped_files(context, exporter_, table, &changes));
  CO_RETURN_IF_ERROR(co_await look_into_partial_files(context, exporter_, &changes));
  CO_RETURN_IF_ERROR(
      co_await complete_nan_counts(context, nan_counting_, exporter_, writer_, table, &changes));
  auto plan = materialize::plan_exports(*table, changes);
  materialize::Exported exported;
  if (!plan.empty()) {
    CO_ASSIGN_OR_RETURN(exported, co_await exporter_->make(context, &plan));
  }
  CO_ASSIGN_OR_RETURN(auto split, materialize::split_changes(*table, changes, plan, exported));
  co_return co_await build_series(context, manifests_, exporter_, table, std::move(split));
}

base::Task<base::Result<Publisher::Prepared>> Publisher::prepare(
    base::RequestContext context, model::LakeTable table, std::optional<model::LakeChanges> changes,
    TableViewPtr before) {
  auto trail = std::make_shared<Trail>();
  trail->published.table = table.table_id;
  trail->published.read_at = table.version;
  trail->published.epoch = table.epoch;
  trail->published.format_version = table.metadata.format_version;
  SnapshotSeries built;
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
    prepared.objects.push_back(
        {view->metadata_location, std::string(view->document()), view->document_sha256});
  }
  // Nobody is told of the view before all that it names is there.
  CO_RETURN_IF_ERROR(co_await manifests_->put(context, std::move(prepared.objects)));
  if (!trail->published.snapshots.empty()) co_await reached(steps_, CommitStep::kListed);
  if (trail->published.metadata_file) co_await reached(steps_, CommitStep::kFilePut);
  CO_RETURN_IF_ERROR(co_await record(context, trail));
  if (trail->published.metadata_file) co_await reached(steps_, CommitStep::kRecorded);
  co_return view;
}

base::Task<base::Result<Publication>> Publisher::publish_known(base::RequestContext context,
                                                               model::LakeTable table,
                                                               model::LakeChanges changes,
                                                               TableViewPtr before) {
  CO_ASSIGN_OR_RETURN(auto prepared,
                      co_await prepare(context, std::move(table), std::move(changes), before));
  CO_RETURN_IF_ERROR(co_await manifests_->put(context, std::move(prepared.objects)));
  co_await reached(steps_, CommitStep::kListed);
  co_return std::move(prepared.publication);
}

base::Task<base::Status> Publisher::finish(base::RequestContext context, Publication publication) {
  if (publication.trail->done) co_return base::Status{};
  if (publication.trail->failed) {
    co_return base::fail(base::ErrorKind::kConflict, "the publication was not recorded in time")
        .with_reason(ducklake::kStale);
  }
  auto finished = co_await put_and_record(context, publication);
  if (!finished) publication.trail->failed = true;
  co_return finished;
}

base::Task<base::Status> Publisher::put_and_record(base::RequestContext context,
                                                   Publication publication) {
  const auto& [view, trail] = publication;
  if (trail->published.metadata_file) {
    std::vector<materialize::NewObject> file;
    file.push_back({view->metadata_location, std::string(view->document()), view->document_sha256});
    CO_RETURN_IF_ERROR(co_await manifests_->put(context, std::move(file)));
    co_await reached(steps_, CommitStep::kFilePut);
  }
  CO_RETURN_IF_ERROR(co_await record(context, trail));
  co_await reached(steps_, CommitStep::kRecorded);
  co_return base::Status{};
}

}  // namespace lake::publish

// A table compacted, from top to bottom:
//   1 the lock: one compaction of a table at a time, whichever server is asked, and
//     one of any table in this process; on connections that no other request needs
//   2 the lake as it is; the snapshots that the table's properties let go, for clients, and
//     those that the lake's own setting lets go
//   3 flush, rewrite, merge, expire: DuckDB's functions, each a snapshot of the
//     lake or none (maintenance/compaction/)
//   4 the table as clients see it now is published, so that nothing that they
//     are told from now on names the old files (to_iceberg/publish/)
//   5 files that were let go of longer ago than any client reads are removed
// A crash after any of them leaves a whole lake, and the next call goes on.

#include "lakeproxy/operation/compact_table.h"

#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/iceberg/metadata/retention.h"
#include "lakeproxy/maintenance/removal/prefix_owner.h"
#include "lakeproxy/operation/catalog/now.h"
#include "lakeproxy/operation/tables.h"
#include "lakeproxy/to_iceberg/definition/old_files.h"

namespace lake::operation {
namespace {

using base::ErrorKind;

constexpr std::int64_t kSnapshotsAtOnce = 1000;
constexpr std::int64_t kFilesAtOnce = 1000;
constexpr int kMostPages = 100;
// Of the request's time, for steps 4 and 5.
constexpr double kKeptForTheEnd = 0.25;

base::RequestContext without_the_end(base::RequestContext context) {
  auto now = std::chrono::steady_clock::now();
  if (context.deadline == base::Deadline::max() || context.deadline <= now) return context;
  auto left = std::chrono::duration<double>(context.deadline - now) * (1 - kKeptForTheEnd);
  context.deadline = now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(left);
  return context;
}

exporter::CompactionJob job_of(base::RequestContext context, const Catalog& catalog,
                               const model::TableIdentifier& identifier,
                               std::vector<std::int64_t> expire) {
  return {.place = {catalog.lake.metadata_schema, catalog.lake.data_path},
          .name = {ducklake::flat_schema_name(identifier.name_space), identifier.name},
          .expire = std::move(expire),
          .progress =
              [log = catalog.log->for_request(context.request_id), table = identifier.display()](
                  std::string_view step, std::int64_t count) {
                log.info("compaction goes on",
                         {{"table", table}, {"step", step}, {"count", count}});
              },
          .watch = catalog.compaction_steps};
}

// A setting that is no time must not keep a table large.
base::Task<base::Result<std::vector<std::int64_t>>> expirable(
    base::RequestContext context, const Catalog* catalog,
    std::vector<exporter::SkippedStep>* skipped) {
  auto snapshots = co_await catalog->table_upkeep->expirable(context, kSnapshotsAtOnce);
  if (snapshots || snapshots.error().kind() != ErrorKind::kInvalid) co_return snapshots;
  skipped->push_back({"expire", "the lake's option expire_older_than is no time",
                      std::move(snapshots).error().detail()});
  co_return std::vector<std::int64_t>{};
}

// How many snapshots clients see no more, by the table's own properties. A tag that
// came meanwhile keeps its snapshot, and so all of them until the next compaction.
base::Task<base::Result<std::int64_t>> remove_snapshots(
    base::RequestContext context, Catalog* catalog, const policy::Authorized<CompactTable>* request,
    publish::LoadedTablePtr view, std::vector<exporter::SkippedStep>* skipped) {
  auto old = model::expired_snapshots(view->metadata, now_ms(*catalog->clock));
  if (old.empty()) co_return 0;
  const auto count = static_cast<std::int64_t>(old.size());
  CommitTable change{.identifier = (*request)->identifier, .commit = {}};
  change.commit.updates.emplace_back(model::RemoveSnapshots{std::move(old)});
  auto done = co_await commit_table(context, catalog, request->part(std::move(change)));
  if (done) co_return count;
  if (done.error().kind() != ErrorKind::kConflict) co_return std::move(done).error();
  skipped->push_back({"remove-snapshots", std::string(done.error().message()), ""});
  co_return 0;
}

base::Task<base::Result<std::int64_t>> remove_old_files(base::RequestContext context,
                                                        const Catalog* catalog,
                                                        model::TableId table) {
  std::int64_t removed = 0;
  for (int page = 0; page < kMostPages; ++page) {
    CO_ASSIGN_OR_RETURN(auto files, co_await catalog->table_upkeep->removable(
                                        context, table, catalog->file_grace, kFilesAtOnce));
    if (files.empty()) break;
    if (page == 0) {
      CO_RETURN_IF_ERROR(co_await check_owner(
          context, {catalog->upkeep, catalog->store, catalog->lake.data_path}));
    }
    std::vector<storage::ObjectKey> keys;
    for (const auto& file : files) {
      CO_ASSIGN_OR_RETURN(auto key, storage::key_in(catalog->store->bucket(), file.object));
      keys.push_back(std::move(key));
    }
    CO_ASSIGN_OR_RETURN(auto failures, co_await catalog->store->remove_many(context, keys));
    if (!failures.empty()) co_return std::move(failures.front().error);
    exporter::reached(catalog->compaction_steps, exporter::CompactionStep::kRemoved);
    removed += static_cast<std::int64_t>(files.size());
    CO_RETURN_IF_ERROR(co_await catalog->table_upkeep->forget(context, std::move(files)));
    exporter::reached(catalog->compaction_steps, exporter::CompactionStep::kForgotten);
  }
  co_return removed;
}

// The engine that compacts is DuckDB 1.5.5.
base::Status check_format(model::LakeFormat format) {
  if (format < model::LakeFormat::k1_1) return {};
  return base::fail(
      ErrorKind::kUnsupported,
      "the lake has DuckLake version 1.1, which the engine of this server, DuckDB 1.5.5, "
      "cannot attach; compact the table in DuckDB 2.0");
}

base::Task<base::Result<Compacted>> compact(base::RequestContext context, Catalog* catalog,
                                            const policy::Authorized<CompactTable>* request) {
  const model::TableIdentifier* identifier = &(*request)->identifier;
  CO_ASSIGN_OR_RETURN(auto table, co_await catalog->reader->find_table(context, *identifier));
  // Before the lock: each compaction takes two connections, of few.
  CO_ASSIGN_OR_RETURN(auto place, catalog->compactor->enter());
  CO_ASSIGN_OR_RETURN(auto lock, co_await catalog->table_upkeep->lock(context, table));
  exporter::reached(catalog->compaction_steps, exporter::CompactionStep::kLocked);
  CO_ASSIGN_OR_RETURN(const auto version, co_await catalog->reader->version(context));
  CO_RETURN_IF_ERROR(check_format(version.format));
  // What cannot be published afterwards is not begun; a flush ends what hides old rows.
  auto view = co_await catalog->loaded_tables->get_recorded(context, *identifier);
  if (!view && view.error().reason() != ducklake::kOldRows) co_return std::move(view).error();
  Compacted compacted;
  CO_ASSIGN_OR_RETURN(compacted.before, co_await catalog->table_upkeep->totals(context, table));
  std::vector<exporter::SkippedStep> skipped;
  std::vector<std::int64_t> old;
  if (view) {
    CO_ASSIGN_OR_RETURN(compacted.snapshots_removed,
                        co_await remove_snapshots(context, catalog, request, *view, &skipped));
    CO_ASSIGN_OR_RETURN(old, co_await expirable(context, catalog, &skipped));
  }
  CO_ASSIGN_OR_RETURN(compacted.done, co_await catalog->compactor->run(
                                          without_the_end(context), &place,
                                          job_of(context, *catalog, *identifier, std::move(old))));
  std::ranges::move(skipped, std::back_inserter(compacted.done.skipped));
  CO_RETURN_IF_ERROR(co_await catalog->loaded_tables->get_recorded(context, *identifier));
  exporter::reached(catalog->compaction_steps, exporter::CompactionStep::kPublished);
  auto removed = co_await remove_old_files(context, catalog, table);
  if (!removed && removed.error().kind() != ErrorKind::kConflict) {
    co_return std::move(removed).error();
  }
  if (removed) {
    compacted.files_removed = *removed;
  } else {
    compacted.done.skipped.push_back({"remove", std::string(removed.error().message()), ""});
  }
  CO_ASSIGN_OR_RETURN(compacted.after, co_await catalog->table_upkeep->totals(context, table));
  co_await lock->rollback();
  co_return compacted;
}

void log_skipped(const base::log::Logger& log, const std::string& table,
                 const std::vector<exporter::SkippedStep>& skipped) {
  for (const auto& [step, reason, detail] : skipped) {
    log.warning("a step of a compaction was skipped",
                {{"table", table}, {"step", step}, {"reason", reason}, {"detail", detail}});
  }
}

}  // namespace

base::Task<base::Result<Compacted>> compact_table(base::RequestContext context, Catalog* catalog,
                                                  policy::Authorized<CompactTable> request) {
  auto result = co_await compact(context, catalog->unhurried.get(), &request);
  catalog->compaction_metrics->note(result);
  if (!result) co_return result;
  auto log = catalog->log->for_request(context.request_id);
  const std::string table = request->identifier.display();
  log_skipped(log, table, result->done.skipped);
  log.info("a table was compacted", {{"table", table},
                                     {"files_before", result->before.files},
                                     {"files_after", result->after.files},
                                     {"bytes_before", result->before.bytes},
                                     {"bytes_after", result->after.bytes},
                                     {"snapshots_removed", result->snapshots_removed},
                                     {"snapshots_expired", result->done.snapshots_expired},
                                     {"files_removed", result->files_removed},
                                     {"steps_skipped", result->done.skipped.size()}});
  co_return result;
}

CompactionMetrics::CompactionMetrics(base::metrics::Registry& metrics)
    : done_(metrics.counter("lakeproxy_compactions_total", "Compactions of tables.",
                            {{"result", "done"}})),
      partial_(metrics.counter("lakeproxy_compactions_total", "Compactions of tables.",
                               {{"result", "partial"}})),
      failed_(metrics.counter("lakeproxy_compactions_total", "Compactions of tables.",
                              {{"result", "failed"}})),
      files_merged_(metrics.counter("lakeproxy_compaction_files_merged_total",
                                    "Files that compactions wrote anew or merged.")),
      rows_flushed_(metrics.counter("lakeproxy_compaction_rows_flushed_total",
                                    "Rows that compactions moved from PostgreSQL to files.")),
      snapshots_expired_(metrics.counter("lakeproxy_compaction_snapshots_expired_total",
                                         "Snapshots that compactions removed.")),
      files_removed_(metrics.counter("lakeproxy_compaction_files_removed_total",
                                     "Objects that compactions removed.")) {}

void CompactionMetrics::note(const base::Result<Compacted>& result) const {
  if (!result) {
    failed_.add();
    return;
  }
  (result->done.skipped.empty() ? done_ : partial_).add();
  auto add = [](const base::metrics::Counter& counter, std::int64_t count) {
    counter.add(static_cast<std::uint64_t>(count));
  };
  add(files_merged_, result->done.merged.read + result->done.rewritten.read);
  add(rows_flushed_, result->done.rows_flushed);
  add(snapshots_expired_, result->done.snapshots_expired);
  add(files_removed_, result->files_removed);
}

}  // namespace lake::operation

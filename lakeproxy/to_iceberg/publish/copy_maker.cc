#include "lakeproxy/to_iceberg/publish/copy_maker.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/to_iceberg/snapshot/shown_snapshots.h"

namespace lake::publish {
namespace {

using base::ErrorKind;
using base::RequestContext;
using base::Task;
using model::LakeDataFile;

constexpr std::chrono::hours kLongest{1};
constexpr std::chrono::seconds kRecordTime{30};

RequestContext within(std::chrono::steady_clock::duration time) {
  RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + time;
  return context;
}

// What another try may find otherwise.
bool may_come_later(ErrorKind kind) {
  return kind == ErrorKind::kUnavailable || kind == ErrorKind::kCancelled ||
         kind == ErrorKind::kTimeout || kind == ErrorKind::kOutcomeUnknown ||
         kind == ErrorKind::kInternal;
}

using Files = std::vector<const LakeDataFile*>;

// Newest first: the newest state is what clients wait for.
Files missing_copies(const model::LakeChanges& changes) {
  Files files;
  for (const auto& [id, file] : changes.data_files) {
    if (!file.copy || file.copy->is_made || file.copy->failure) continue;
    auto shown = materialize::shown_before(changes, file.begin)
                     ? std::optional(file.begin)
                     : materialize::shown_at(changes, file.begin);
    if (shown && (!file.end || *shown < *file.end)) files.push_back(&file);
  }
  return files;
}

model::CopyProgress progress_of(const model::LakeChanges& changes, std::size_t missing) {
  model::CopyProgress progress{.wanted = missing};
  for (const auto& [id, file] : changes.data_files) {
    if (file.copy && file.copy->is_made) ++progress.made;
  }
  progress.wanted += progress.made;
  return progress;
}

bool needs(const model::LakeCommit& commit, const Files& missing) {
  return std::ranges::any_of(missing, [&](const LakeDataFile* file) {
    return file->begin <= commit.snapshot && (!file->end || commit.snapshot < *file->end);
  });
}

base::Error too_large(const model::LakeTable& table, const Files& missing, std::uint64_t bytes,
                      std::uint64_t most) {
  std::string columns;
  for (const model::CopiedColumn& column : missing.front()->copy->columns) {
    const model::Field* field = table.metadata.current_schema().find(column.id);
    if (!columns.empty()) columns += ", ";
    columns += fmt::format("'{}'", field != nullptr ? field->name : column.name);
  }
  return base::fail(
      ErrorKind::kUnsupported,
      fmt::format("table {}: columns {} need readable copies of {} bytes of files, and "
                  "LAKEPROXY_READABLE_COPIES_MAX_BYTES is {}: raise it, or give the columns "
                  "types that clients read",
                  table.name, columns, bytes, most));
}

}  // namespace

CopyWork::CopyWork(std::uint64_t most_bytes, base::metrics::Registry& metrics)
    : most_bytes(most_bytes),
      made(metrics.counter("lakeproxy_readable_copies_total", "Readable copies of data files.",
                           {{"outcome", "made"}})),
      failed(metrics.counter("lakeproxy_readable_copies_total", "Readable copies of data files.",
                             {{"outcome", "failed"}})),
      put_off(metrics.counter("lakeproxy_readable_copies_total", "Readable copies of data files.",
                              {{"outcome", "put_off"}})),
      waiting(metrics.gauge("lakeproxy_readable_copies_waiting",
                            "Data files that wait for their readable copies.")) {}

void CopyMaker::make(const std::string& metadata_schema, const model::LakeTable& table,
                     const Files& files) {
  if (stopping_) return;
  std::size_t place = 0;
  for (const LakeDataFile* file : files) {
    ++place;
    {
      std::lock_guard lock(work_->mutex);
      if (!work_->claimed.insert(file->copy->location).second) continue;
    }
    work_->waiting.add(1);
    jobs_.push_back(
        {metadata_schema, table.name, table.table_id.value, *file, place, files.size()});
  }
  if (running_ || jobs_.empty()) return;
  running_ = true;
  tasks_->spawn(run());
}

Task<void> CopyMaker::run() {
  while (!jobs_.empty() && !stopping_) {
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    const std::string location = job.file.copy->location;
    co_await make_one(std::move(job));
    work_->waiting.add(-1);
    std::lock_guard lock(work_->mutex);
    work_->claimed.erase(location);
  }
  running_ = false;
}

Task<void> CopyMaker::make_one(Job job) {
  const model::ReadableCopy& copy = *job.file.copy;
  auto bytes = co_await exporter_->copy_file(within(kLongest), &copy, job.file.record_count);
  std::string failure;
  if (!bytes) failure = fmt::format("{}: {}", bytes.error().message(), bytes.error().detail());
  const bool later = !bytes && may_come_later(bytes.error().kind());
  base::Status recorded;
  if (!later) recorded = co_await record(within(kRecordTime), &job, std::move(bytes));
  if (!recorded) failure = recorded.error().message();
  tell(job, failure, later || !recorded);
}

void CopyMaker::tell(const Job& job, const std::string& failure, bool comes_later) {
  const base::log::Fields fields = {{"table", job.table},
                                    {"file", job.file.copy->source},
                                    {"copy", job.file.copy->location},
                                    {"place", job.place},
                                    {"of", job.of},
                                    {"error", failure}};
  if (comes_later) {
    work_->put_off.add();
    log_.warning("a readable copy is not made yet; the table's next load asks for it again",
                 fields);
  } else if (!failure.empty()) {
    work_->failed.add();
    log_.error("a readable copy cannot be made; snapshots that need it are not shown", fields);
  } else {
    work_->made.add();
    log_.info("a readable copy is made", fields);
  }
}

Task<base::Status> CopyMaker::record(RequestContext context, const Job* job,
                                     base::Result<std::int64_t> bytes) {
  const ducklake::SchemaSql sql(job->metadata_schema);
  const model::ReadableCopy& copy = *job->file.copy;
  const std::string failure = bytes ? "" : std::string(bytes.error().message());
  CO_RETURN_IF_ERROR(co_await pool_->query(
      context,
      {sql("INSERT INTO @lakeproxy_readable_copy (data_file_id, signature, table_id, location, "
           "file_size_bytes, failure) VALUES ($1, $2, $3, $4, nullif($5::bigint, -1), nullif($6, "
           "'')) ON CONFLICT DO NOTHING"),
       {base::pg::param(job->file.id.value), base::pg::param(copy.signature),
        base::pg::param(job->table_id), base::pg::param(copy.location),
        base::pg::param(bytes ? *bytes : std::int64_t{-1}), base::pg::param(failure)}}));
  co_return base::Status{};
}

base::Status wait_for_copies(CopyMaker* maker, const std::string& metadata_schema,
                             model::LakeTable& table, model::LakeChanges& changes) {
  const Files missing = missing_copies(changes);
  if (missing.empty()) return {};
  if (maker == nullptr) {
    return base::fail(
        ErrorKind::kUnsupported,
        fmt::format("table {}: needs readable copies, and none are made", table.name));
  }
  std::uint64_t bytes = 0;
  for (const LakeDataFile* file : missing) {
    bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(0, file->copy->source_bytes));
  }
  if (bytes > maker->most_bytes()) return too_large(table, missing, bytes, maker->most_bytes());
  maker->make(metadata_schema, table, missing);
  const model::CopyProgress progress = progress_of(changes, missing.size());
  auto first = std::ranges::find_if(changes.commits,
                                    [&](const auto& commit) { return needs(commit, missing); });
  if (first == changes.commits.end()) return {};
  changes.commits.erase(first, changes.commits.end());
  table.waits_for_copies = progress;
  if (!changes.commits.empty() || !table.materialized.empty()) return {};
  return base::fail(
      ErrorKind::kUnavailable,
      fmt::format("table {}: its files are copied for clients that cannot read them: copied {} of "
                  "{} files; try again",
                  table.name, progress.made, progress.wanted));
}

base::Status check_failed_copies(const model::LakeTable& table, const model::LakeChanges& changes) {
  if (!changes.commits.empty() || !table.materialized.empty()) return {};
  for (const auto& [id, file] : changes.data_files) {
    if (!file.copy || !file.copy->failure) continue;
    return base::fail(ErrorKind::kUnsupported,
                      fmt::format("table {}: {} cannot be copied for clients: {}", table.name,
                                  file.copy->source, *file.copy->failure));
  }
  return {};
}

}  // namespace lake::publish

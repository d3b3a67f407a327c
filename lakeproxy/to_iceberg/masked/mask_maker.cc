#include "lakeproxy/to_iceberg/masked/mask_maker.h"

#include <fmt/format.h>

#include "lakeproxy/ducklake/lake/schema_sql.h"

namespace lake::masked {
namespace {

using base::ErrorKind;
using base::RequestContext;
using base::Task;

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

base::metrics::Counter outcome(base::metrics::Registry& metrics, const char* name) {
  return metrics.counter("lakeproxy_masked_copies_total", "Masked copies of data files.",
                         {{"outcome", name}});
}

}  // namespace

MaskWork::MaskWork(base::metrics::Registry& metrics)
    : made(outcome(metrics, "made")),
      failed(outcome(metrics, "failed")),
      put_off(outcome(metrics, "put_off")),
      waiting(metrics.gauge("lakeproxy_masked_copies_waiting",
                            "Data files that wait for their masked copies.")) {}

void MaskMaker::make(const MaskedTableName& of, const std::vector<FileToMask>& files) {
  if (stopping_) return;
  for (const FileToMask& file : files) {
    {
      std::lock_guard lock(work_->mutex);
      if (!work_->claimed.insert(file.copy.location).second) continue;
    }
    work_->waiting.add(1);
    jobs_.push_back({of, file});
  }
  if (running_ || jobs_.empty()) return;
  running_ = true;
  tasks_->spawn(run());
}

Task<void> MaskMaker::run() {
  while (!jobs_.empty() && !stopping_) {
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    const std::string location = job.file.copy.location;
    co_await make_one(std::move(job));
    work_->waiting.add(-1);
    std::lock_guard lock(work_->mutex);
    work_->claimed.erase(location);
  }
  running_ = false;
}

Task<void> MaskMaker::make_one(Job job) {
  auto made = co_await exporter_->mask_file(within(kLongest), &job.file.copy, part_bytes_);
  std::string failure;
  if (!made) failure = fmt::format("{}: {}", made.error().message(), made.error().detail());
  const bool later = !made && may_come_later(made.error().kind());
  base::Status recorded;
  if (!later) recorded = co_await record(within(kRecordTime), &job, std::move(made));
  if (!recorded) failure = recorded.error().message();
  const base::log::Fields fields = {{"table", job.of.shown},
                                    {"signature", job.of.signature},
                                    {"file", job.file.copy.source.file_path},
                                    {"copy", job.file.copy.location},
                                    {"error", failure}};
  if (later || !recorded) {
    work_->put_off.add();
    log_.warning("a masked copy is not made yet; the table's next load asks for it again", fields);
  } else if (!failure.empty()) {
    work_->failed.add();
    log_.error("a masked copy cannot be made; masked principals are refused the table", fields);
  } else {
    work_->made.add();
    log_.info("a masked copy is made", fields);
  }
}

Task<base::Status> MaskMaker::record(RequestContext context, const Job* job,
                                     base::Result<exporter::MaskedParts> made) {
  const ducklake::SchemaSql sql(job->of.metadata_schema);
  const std::string failure = made ? "" : std::string(made.error().message());
  std::vector<std::optional<std::string>> locations;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> bytes;
  for (const exporter::MaskedPart& part : made.value_or(exporter::MaskedParts{})) {
    locations.emplace_back(part.location);
    rows.push_back(part.record_count);
    bytes.push_back(part.file_size_bytes);
  }
  CO_RETURN_IF_ERROR(co_await pool_->query(
      context,
      {sql("INSERT INTO @lakeproxy_masked_copy (table_id, signature, name, locations, "
           "record_counts, "
           "file_sizes, failure) VALUES ($1, $2, $3, $4, $5, $6, nullif($7, '')) "
           "ON CONFLICT DO NOTHING"),
       {base::pg::param(job->of.table.value), base::pg::param(job->of.signature),
        base::pg::param(job->file.name), base::pg::array_param(locations),
        base::pg::array_param(rows), base::pg::array_param(bytes), base::pg::param(failure)}}));
  co_return base::Status{};
}

}  // namespace lake::masked

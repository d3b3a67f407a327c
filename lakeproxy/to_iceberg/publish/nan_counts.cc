#include "lakeproxy/to_iceberg/publish/nan_counts.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <ranges>
#include <utility>
#include <vector>

#include "base/runtime/gather.h"
#include "lakeproxy/engine/files/transfer.h"
#include "lakeproxy/iceberg/schema/name_mapping.h"
#include "lakeproxy/to_iceberg/snapshot/shown_snapshots.h"

namespace lake::publish {
namespace {

using base::ErrorKind;
using base::RequestContext;
using base::Task;
using NanCount = ducklake::LakeWriter::NanCount;

constexpr std::string_view kHelp =
    "Data files that were looked into for the NaN counts of their columns.";
constexpr base::AtOnce kFilesAtOnce{4};
/// Of the time that the request has left; the rest is for what it asked.
constexpr int kShareOfTime = 4;
constexpr std::chrono::seconds kLongest{30};

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
    const bool no_values = stats.value_count == 0 && stats.null_count == file.record_count;
    // DuckDB wrote whole numbers there.
    if (table.lake_types.contains(stats.column_id)) continue;
    if (!no_values && !stats.nan_count_settled && is_float(table, stats.column_id)) {
      columns.push_back(stats.column_id);
    }
  }
  return columns;
}

// What the jobs of one publication have in common.
struct Work {
  RequestContext recording;  ///< The request's own time.
  RequestContext counting;   ///< The part of it that may go into counting.
  const NanCounting* of;
  exporter::Exporter* files;
  ducklake::LakeWriter* writer;
  model::NameMapping mapping;
  exporter::ByteBudget budget;
};

struct Uncounted {
  model::LakeDataFile* file;
  std::vector<model::FieldId> columns;
};

bool concerns(const Uncounted& one, const model::LakeColumnStats& stats) {
  return std::ranges::find(one.columns, stats.column_id) != one.columns.end();
}

using Counts = std::map<model::FieldId, std::int64_t>;

std::vector<NanCount> settle(const Uncounted& one, const Counts& counts) {
  std::vector<NanCount> settled;
  for (auto& stats : one.file->stats) {
    if (!concerns(one, stats)) continue;
    auto count = counts.find(stats.column_id);
    if (count != counts.end()) stats.nan_count = count->second;
    stats.nan_count_settled = true;
    settled.push_back({one.file->id, stats.column_id, stats.nan_count});
  }
  return settled;
}

// An answer that is missing for now, and not for good.
bool may_come_later(const base::Error& error) {
  return error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kCancelled;
}

void tell(const NanCounting& counting, const base::Result<Counts>& counts) {
  if (counts) return counting.counted.add();
  if (counts.error().kind() == ErrorKind::kTooLarge) return counting.over_bound.add();
  counting.unreadable.add();
}

// Leaves a file that time or bytes do not reach to be settled with all others of its kind.
Task<base::Status> count_one(Work* work, const Uncounted* one) {
  if (work->counting.expired() || work->budget.left() == 0) co_return base::Status{};
  exporter::NanSearch search{one->file, one->columns, &work->mapping, &work->budget};
  auto counts = co_await work->files->count_nans(work->counting, std::move(search));
  if (!counts && may_come_later(counts.error())) co_return std::move(counts).error();
  if (!counts && counts.error().kind() == ErrorKind::kTimeout) co_return base::Status{};
  tell(*work->of, counts);
  co_return co_await work->writer->record_nan_counts(work->recording,
                                                     settle(*one, counts ? *counts : Counts{}));
}

Task<base::Status> settle_the_rest(Work* work, const std::vector<Uncounted>* files) {
  std::vector<NanCount> rest;
  for (const Uncounted& one : *files) {
    auto open = [&](const auto& stats) { return !stats.nan_count_settled && concerns(one, stats); };
    if (std::ranges::none_of(one.file->stats, open)) continue;
    (work->budget.left() == 0 ? work->of->over_bound : work->of->out_of_time).add();
    for (NanCount& count : settle(one, {})) rest.push_back(std::move(count));
  }
  if (rest.empty()) co_return base::Status{};
  co_return co_await work->writer->record_nan_counts(work->recording, std::move(rest));
}

base::Result<model::NameMapping> mapping_of(const model::LakeTable& table) {
  const auto& properties = table.metadata.properties;
  auto text = properties.find(std::string(model::kNameMappingProperty));
  if (text == properties.end()) return model::NameMapping{};
  return model::parse_name_mapping(text->second);
}

RequestContext part_of(RequestContext context) {
  const auto now = std::chrono::steady_clock::now();
  // A deadline may be the end of time, which is not to be calculated with.
  const bool is_near = context.deadline < now + kShareOfTime * kLongest;
  context.deadline = now + (is_near ? (context.deadline - now) / kShareOfTime : kLongest);
  return context;
}

}  // namespace

NanCounting::NanCounting(std::uint64_t most_bytes, base::metrics::Registry& metrics)
    : most_bytes(most_bytes),
      counted(metrics.counter("lakeproxy_nan_count_files_total", kHelp, {{"outcome", "counted"}})),
      over_bound(
          metrics.counter("lakeproxy_nan_count_files_total", kHelp, {{"outcome", "over_bound"}})),
      out_of_time(
          metrics.counter("lakeproxy_nan_count_files_total", kHelp, {{"outcome", "out_of_time"}})),
      unreadable(
          metrics.counter("lakeproxy_nan_count_files_total", kHelp, {{"outcome", "unreadable"}})) {}

Task<base::Status> complete_nan_counts(RequestContext context, const NanCounting* counting,
                                       exporter::Exporter* exporter, ducklake::LakeWriter* writer,
                                       const model::LakeTable* table, model::LakeChanges* changes) {
  std::vector<Uncounted> files;
  for (auto& [id, file] : std::views::reverse(changes->data_files)) {
    if (materialize::shown_before(*changes, file.begin)) continue;
    auto columns = uncounted(*table, file);
    if (!columns.empty()) files.push_back({&file, std::move(columns)});
  }
  if (files.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto mapping, mapping_of(*table));
  Work work{context,
            part_of(context),
            counting,
            exporter,
            writer,
            std::move(mapping),
            exporter::ByteBudget(counting->most_bytes)};
  auto begin = [&](std::size_t i) { return count_one(&work, &files[i]); };
  CO_RETURN_IF_ERROR(co_await base::gather_few(kFilesAtOnce, files.size(), begin));
  co_return co_await settle_the_rest(&work, &files);
}

}  // namespace lake::publish

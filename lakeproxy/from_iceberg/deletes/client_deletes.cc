#include "lakeproxy/from_iceberg/deletes/client_deletes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/core/text.h"
#include "base/runtime/gather.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/derive/plan/derived_object_names.h"
#include "lakeproxy/from_iceberg/deletes/delete_object.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using ducklake::FileDeletes;
using ducklake::LiveFile;
using exporter::Positions;
using exporter::PositionsByFile;

// Data files whose deletes are worked on at once.
constexpr base::AtOnce kFilesAtOnce{16};

Positions unite(const Positions& a, const Positions& b) {
  Positions both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

Positions without(const Positions& a, const Positions& b) {
  Positions rest;
  std::ranges::set_difference(a, b, std::back_inserter(rest));
  return rest;
}

// One data file, and the changes to what of it is deleted.
struct Job {
  std::string location;
  FileRow* row = nullptr;
};

// The snapshot's work on the files that it touches.
class Work {
 public:
  Work(const DeleteBase& base, const DeleteChanges& changes, CommitFiles& files)
      : base_(base), changes_(changes), files_(files) {}

  base::Status plan(const std::set<std::string>& touched);
  /// Makes the changes to `row`.
  base::Status apply(const std::string& location, FileRow& row);
  [[nodiscard]] const DeleteBase& base() const { return base_; }

  std::vector<Job> jobs;
  std::vector<ducklake::InlinedDeletes> groups;

 private:
  base::Status plan_group(const std::string& location, const materialize::InlinedPlace& place);
  base::Status plan_file(const std::string& location);
  base::Status take(const std::map<std::string, PositionsByFile>& by_key,
                    const std::string& location, FileRow& row);
  [[nodiscard]] bool is_older(const FileRow& row) const {
    return row.live || row.added.snapshot < files_.snapshot();
  }

  const DeleteBase& base_;
  const DeleteChanges& changes_;
  CommitFiles& files_;
};

base::Error no_live_file(const std::string& location) {
  return base::fail(ErrorKind::kConflict,
                    "add-snapshot: deletes rows of no live data file: " + location);
}

base::Status Work::plan_group(const std::string& location, const materialize::InlinedPlace& place) {
  ducklake::InlinedDeletes group{place, changes_.added_to(location)};
  if (files_.was_returned(location, group.positions)) {
    return base::fail(ErrorKind::kUnsupported,
                      "add-snapshot: rows that DuckDB keeps in the catalog came back earlier in "
                      "the same commit, and are deleted again; commit the two apart: " +
                          location);
  }
  auto returned = changes_.returned.find(location);
  if (returned != changes_.returned.end()) group.returned = returned->second;
  files_.note_returned(location, group.returned);
  for (const std::string& key : changes_.taken) files_.forget_group(location, key);
  for (const auto* by_key : {&changes_.by_value, &changes_.by_position}) {
    for (const auto& [key, by_file] : *by_key) {
      auto found = by_file.find(location);
      if (found == by_file.end()) continue;
      RETURN_IF_ERROR(files_.remember_group(location, key, found->second));
    }
  }
  if ((group.positions.empty() && group.returned.empty()) || files_.removed_now(location) > 0) {
    return {};
  }
  if (files_.removed(location) > 0) return no_live_file(location);
  groups.push_back(std::move(group));
  return {};
}

base::Status Work::plan_file(const std::string& location) {
  std::span<FileRow> rows = files_.rows(location);
  if (rows.empty() && files_.removed_now(location) == 0 && !changes_.added_to(location).empty()) {
    return no_live_file(location);
  }
  for (FileRow& row : rows) jobs.push_back({location, &row});
  return {};
}

base::Status Work::plan(const std::set<std::string>& touched) {
  for (const std::string& location : touched) {
    std::optional<materialize::InlinedPlace> group;
    if (base_.table != nullptr) {
      group = materialize::parse_inlined_location(*base_.table, location);
    }
    RETURN_IF_ERROR(group ? plan_group(location, *group) : plan_file(location));
  }
  return {};
}

base::Status Work::apply(const std::string& location, FileRow& row) {
  if (is_older(row)) {
    if (changes_.freed.contains(location)) row.lake_counts = false;
    for (const std::string& key : changes_.taken) row.deletes.erase(key);
    RETURN_IF_ERROR(take(changes_.by_value, location, row));
  }
  return take(changes_.by_position, location, row);
}

base::Status Work::take(const std::map<std::string, PositionsByFile>& by_key,
                        const std::string& location, FileRow& row) {
  for (const auto& [key, by_file] : by_key) {
    auto found = by_file.find(location);
    if (found != by_file.end()) RETURN_IF_ERROR(files_.remember(row, key, found->second));
  }
  return {};
}

// What the lake deletes of the file.
base::Task<base::Result<Positions>> deleted_by_lake(base::RequestContext context, Catalog* catalog,
                                                    const FileRow* row, model::SnapshotId head) {
  if (!row->live || !row->lake_counts) co_return Positions();
  const LiveFile& live = *row->live;
  if (!live.delete_file) co_return live.inlined;
  CO_ASSIGN_OR_RETURN(auto in_file,
                      co_await catalog->exporter->lake_positions(context, *live.delete_file, head));
  co_return unite(in_file, live.inlined);
}

Positions all_deleted(const FileRow& row, const Positions& by_lake) {
  Positions all = row.lake_counts ? by_lake : Positions();
  for (const auto& [key, positions] : row.deletes) all = unite(all, positions);
  return all;
}

base::Status check_rows(const Job& job, const Positions& positions) {
  if (positions.empty() || positions.back() < job.row->record_count) return {};
  return base::fail(ErrorKind::kInvalid,
                    fmt::format("add-snapshot: deletes row {} of {}, which has {} rows",
                                positions.back(), job.location, job.row->record_count));
}

FileDeletes change_of(FileRow& row, const Positions& now, const Positions& after) {
  FileDeletes result;
  if (row.live) {
    result.file = row.live->id;
  } else {
    result.file = row.added;
  }
  if (!std::ranges::includes(after, now)) {
    result.restores = ducklake::Restores::kRows;
    row.moved = true;
  }
  return result;
}

// Nothing where the same rows stay deleted.
base::Task<base::Result<std::optional<FileDeletes>>> convert(base::RequestContext context,
                                                             Catalog* catalog, Work* work,
                                                             Job job) {
  const DeleteBase& base = work->base();
  const model::SnapshotId head =
      base.table == nullptr ? model::SnapshotId(0) : base.table->version.snapshot;
  FileRow& row = *job.row;
  CO_ASSIGN_OR_RETURN(Positions by_lake, co_await deleted_by_lake(context, catalog, &row, head));
  const Positions now = all_deleted(row, by_lake);
  CO_RETURN_IF_ERROR(work->apply(job.location, row));
  Positions after = all_deleted(row, by_lake);
  CO_RETURN_IF_ERROR(check_rows(job, after));
  if (after == now) co_return std::nullopt;
  FileDeletes result = change_of(row, now, after);
  // DuckDB counts what PostgreSQL holds for the row, too: no position may stand in both.
  Positions in_file = row.live && !row.moved ? without(after, row.live->inlined) : std::move(after);
  if (!in_file.empty()) {
    CO_ASSIGN_OR_RETURN(result.object,
                        co_await put_delete_object(context, catalog, base.metadata->location,
                                                   job.location, std::move(in_file)));
  }
  co_return result;
}

}  // namespace

base::Task<base::Result<ducklake::RowDeletes>> convert_deletes(base::RequestContext context,
                                                               Catalog* catalog,
                                                               const DeleteBase* base,
                                                               const DeleteChanges* changes,
                                                               CommitFiles* files) {
  const std::set<std::string> touched = changes->touched(*files);
  const std::vector<std::string> asked = files->unknown(touched);
  std::vector<LiveFile> live;
  if (base->table != nullptr) {
    CO_ASSIGN_OR_RETURN(live, co_await catalog->reader->live_files(context, base->table, asked));
  }
  files->know(asked, std::move(live));
  Work work(*base, *changes, *files);
  CO_RETURN_IF_ERROR(work.plan(touched));
  ducklake::RowDeletes result{.files = {}, .groups = std::move(work.groups)};
  auto begin = [&](std::size_t i) {
    return convert(context, catalog, &work, std::move(work.jobs[i]));
  };
  auto keep = [&](std::size_t, std::optional<FileDeletes> changed) {
    if (changed) result.files.push_back(std::move(*changed));
    return base::Status{};
  };
  CO_RETURN_IF_ERROR(co_await base::gather_few(kFilesAtOnce, work.jobs.size(), begin, keep));
  co_return result;
}

}  // namespace lake::operation

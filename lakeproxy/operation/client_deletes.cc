#include "lakeproxy/operation/client_deletes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/core/text.h"
#include "base/runtime/gather.h"
#include "lakeproxy/export/exporter.h"
#include "lakeproxy/operation/equality_deletes.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using ducklake::FileDeletes;
using ducklake::LiveFile;
using ducklake::Restores;
using exporter::Positions;
using exporter::PositionsByFile;

// Data files whose deletes are worked on at once.
constexpr std::size_t kFilesAtOnce = 16;

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

base::Task<base::Result<PositionsByFile>> read_added(base::RequestContext context, Catalog* catalog,
                                                     const DeleteBase* base, const ListDiff* diff) {
  CO_ASSIGN_OR_RETURN(auto prefix, objects::Location::parse(catalog->lake.data_path));
  std::vector<model::DataFile> by_position;
  std::vector<ducklake::AddedFile> by_value;
  for (const auto& added : diff->added_deletes) {
    if (added.file.content == model::FileContent::kEqualityDeletes) {
      by_value.push_back(added);
    } else {
      by_position.push_back(added.file);
    }
  }
  PositionsByFile positions;
  if (!by_position.empty()) {
    CO_ASSIGN_OR_RETURN(positions, co_await catalog->exporter->read_positions(
                                       context, prefix, std::move(by_position)));
  }
  if (by_value.empty()) co_return positions;
  CO_ASSIGN_OR_RETURN(auto search, co_await equality_search(context, catalog, base->metadata,
                                                            base->list, diff, std::move(by_value)));
  search.prefix = prefix;
  CO_ASSIGN_OR_RETURN(auto equal,
                      co_await catalog->exporter->find_equal(context, std::move(search)));
  for (auto& [file, found] : equal) positions[file] = unite(positions[file], found);
  co_return positions;
}

// Locations of the data files whose delete files the client took out.
base::Task<base::Result<std::set<std::string>>> read_removed(base::RequestContext context,
                                                             Catalog* catalog,
                                                             const ListDiff* diff) {
  std::set<std::string> data_files;
  std::vector<model::DataFile> unnamed;
  for (const auto& removed : diff->removed_deletes) {
    const auto& named = removed.file.referenced_data_file;
    if (named) {
      data_files.insert(*named);
    } else {
      unnamed.push_back(removed.file);
    }
  }
  if (unnamed.empty()) co_return data_files;
  CO_ASSIGN_OR_RETURN(auto prefix, objects::Location::parse(catalog->lake.data_path));
  CO_ASSIGN_OR_RETURN(auto positions, co_await catalog->exporter->read_positions(
                                          context, prefix, std::move(unnamed)));
  for (const auto& [file, found] : positions) data_files.insert(file);
  co_return data_files;
}

// What is to be done to one data file.
struct Change {
  std::string data_file;
  std::optional<LiveFile> live;  ///< Nothing for a file that the snapshot adds.
  Positions added;
  bool replaced = false;  ///< What is deleted now counts no more.
};

base::Task<base::Result<Positions>> deleted_now(base::RequestContext context, Catalog* catalog,
                                                const Change* change, model::SnapshotId head) {
  if (!change->live) co_return Positions();
  Positions inlined = change->live->inlined;
  std::ranges::sort(inlined);
  if (!change->live->delete_file) co_return inlined;
  CO_ASSIGN_OR_RETURN(auto in_file, co_await catalog->exporter->lake_positions(
                                        context, *change->live->delete_file, head));
  co_return unite(in_file, inlined);
}

base::Task<base::Result<ducklake::DeleteObject>> put(base::RequestContext context, Catalog* catalog,
                                                     std::string folder, std::string data_file,
                                                     Positions positions) {
  ducklake::DeleteObject object;
  // DuckLake's own form of name: its clean-up finds what no commit names.
  object.location = fmt::format("{}/ducklake-{}-delete.parquet", folder,
                                base::to_string(base::make_uuid_v4(*catalog->random)));
  CO_ASSIGN_OR_RETURN(auto done,
                      co_await catalog->exporter->put_delete_file(
                          context, object.location, std::move(data_file), std::move(positions)));
  object.delete_count = done.delete_count;
  object.file_size_bytes = done.file_size_bytes;
  co_return object;
}

base::Status check_rows(const Change& change, const Positions& positions) {
  if (!change.live || positions.empty() || positions.back() < change.live->record_count) return {};
  return base::fail(ErrorKind::kInvalid,
                    fmt::format("add-snapshot: deletes row {} of {}, which has {} rows",
                                positions.back(), change.data_file, change.live->record_count));
}

// Nothing where the same rows stay deleted.
base::Task<base::Result<std::optional<FileDeletes>>> convert(base::RequestContext context,
                                                             Catalog* catalog,
                                                             const DeleteBase* base,
                                                             Change change) {
  CO_ASSIGN_OR_RETURN(Positions now, co_await deleted_now(context, catalog, &change,
                                                          base->table->version.snapshot));
  Positions after = change.replaced ? change.added : unite(now, change.added);
  CO_RETURN_IF_ERROR(check_rows(change, after));
  if (after == now) co_return std::nullopt;
  FileDeletes result{.data_file = change.data_file};
  Positions in_file = after;
  if (!std::ranges::includes(after, now)) {
    result.restores = Restores::kRows;
  } else if (change.live) {
    // DuckDB counts both, so no position may stand in both.
    Positions inlined = change.live->inlined;
    std::ranges::sort(inlined);
    in_file = without(after, inlined);
  }
  if (change.live) result.id = change.live->id;
  if (!in_file.empty()) {
    CO_ASSIGN_OR_RETURN(result.object, co_await put(context, catalog, base->metadata->location,
                                                    change.data_file, std::move(in_file)));
  }
  co_return result;
}

// The work, by data file.
class Work {
 public:
  Work(const DeleteBase& base, const ListDiff& diff, PositionsByFile added,
       std::set<std::string> replaced)
      : base_(base), added_(std::move(added)), replaced_(std::move(replaced)) {
    for (const auto& location : diff.removed) ++removed_[location];
    for (const auto& file : diff.added) new_files_.insert(file.file.file_path);
  }

  /// Locations of all data files that are touched.
  [[nodiscard]] std::vector<std::string> touched() const {
    std::set<std::string> all = replaced_;
    for (const auto& [location, positions] : added_) all.insert(location);
    return {all.begin(), all.end()};
  }
  /// `live` holds the rows of touched().
  base::Status plan(const std::vector<LiveFile>& live);

  std::vector<Change> changes;
  std::vector<ducklake::InlinedDeletes> groups;

 private:
  base::Status plan_group(const std::string& location, const materialize::InlinedPlace& place);
  base::Status plan_file(const std::string& location, std::vector<LiveFile> rows);
  Positions added_to(const std::string& location) const {
    auto found = added_.find(location);
    return found == added_.end() ? Positions() : found->second;
  }

  const DeleteBase& base_;
  PositionsByFile added_;
  std::set<std::string> replaced_;
  std::map<std::string, std::size_t> removed_;
  std::set<std::string> new_files_;
};

base::Status Work::plan_group(const std::string& location, const materialize::InlinedPlace& place) {
  if (removed_.contains(location)) return {};
  Positions positions = added_to(location);
  if (!positions.empty()) groups.push_back({place, std::move(positions)});
  return {};
}

base::Status Work::plan_file(const std::string& location, std::vector<LiveFile> rows) {
  auto removed = removed_.find(location);
  const std::size_t gone = removed == removed_.end() ? 0 : removed->second;
  const bool is_new = new_files_.contains(location);
  if (rows.size() < gone || (rows.empty() && !is_new && gone == 0)) {
    return base::fail(ErrorKind::kConflict,
                      "add-snapshot: deletes rows of no live data file: " + location);
  }
  // The commit takes the oldest rows away first.
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(gone));
  for (LiveFile& row : rows) {
    changes.push_back({location, std::move(row), added_to(location), replaced_.contains(location)});
  }
  if (is_new && added_.contains(location)) {
    changes.push_back({location, std::nullopt, added_to(location), false});
  }
  return {};
}

base::Status Work::plan(const std::vector<LiveFile>& live) {
  std::map<std::string, std::vector<LiveFile>> rows;
  for (const LiveFile& file : live) rows[file.location].push_back(file);
  for (const std::string& location : touched()) {
    if (auto place = materialize::parse_inlined_location(*base_.table, location)) {
      RETURN_IF_ERROR(plan_group(location, *place));
    } else {
      RETURN_IF_ERROR(plan_file(location, std::move(rows[location])));
    }
  }
  return {};
}

// Rows of PostgreSQL that have ended cannot come back.
base::Task<base::Status> check_groups(base::RequestContext context, Catalog* catalog,
                                      const DeleteBase* base, const ListDiff* diff,
                                      const PositionsByFile* added) {
  CO_ASSIGN_OR_RETURN(auto prefix, objects::Location::parse(catalog->lake.data_path));
  std::set<std::string> removed(diff->removed.begin(), diff->removed.end());
  std::vector<model::DataFile> files;
  for (const auto& gone : diff->removed_deletes) {
    const auto& data_file = gone.file.referenced_data_file;
    if (data_file && !removed.contains(*data_file) &&
        materialize::parse_inlined_location(*base->table, *data_file)) {
      files.push_back(gone.file);
    }
  }
  if (files.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(
      auto now, co_await catalog->exporter->read_positions(context, prefix, std::move(files)));
  for (const auto& [location, positions] : now) {
    auto after = added->find(location);
    if (after == added->end() || !std::ranges::includes(after->second, positions)) {
      co_return base::fail(ErrorKind::kUnsupported,
                           "add-snapshot: deleted rows come back that DuckDB keeps in the "
                           "catalog; flush them to files first: " +
                               location);
    }
  }
  co_return base::Status{};
}

}  // namespace

base::Task<base::Result<ducklake::RowDeletes>> convert_deletes(base::RequestContext context,
                                                               Catalog* catalog,
                                                               const DeleteBase* base,
                                                               const ListDiff* diff) {
  CO_ASSIGN_OR_RETURN(auto added, co_await read_added(context, catalog, base, diff));
  CO_RETURN_IF_ERROR(co_await check_groups(context, catalog, base, diff, &added));
  CO_ASSIGN_OR_RETURN(auto replaced, co_await read_removed(context, catalog, diff));
  Work work(*base, *diff, std::move(added), std::move(replaced));
  CO_ASSIGN_OR_RETURN(auto live,
                      co_await catalog->reader->live_files(context, base->table, work.touched()));
  CO_RETURN_IF_ERROR(work.plan(live));
  ducklake::RowDeletes result{.files = {}, .groups = std::move(work.groups)};
  for (std::size_t begin = 0; begin < work.changes.size(); begin += kFilesAtOnce) {
    std::vector<base::Task<base::Result<std::optional<FileDeletes>>>> jobs;
    for (std::size_t i = begin; i < std::min(begin + kFilesAtOnce, work.changes.size()); ++i) {
      jobs.push_back(convert(context, catalog, base, std::move(work.changes[i])));
    }
    for (auto& done : co_await base::gather(std::move(jobs))) {
      if (!done) co_return std::move(done).error();
      if (*done) result.files.push_back(std::move(**done));
    }
  }
  co_return result;
}

}  // namespace lake::operation

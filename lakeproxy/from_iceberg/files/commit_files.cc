#include "lakeproxy/from_iceberg/files/commit_files.h"

#include <algorithm>
#include <iterator>

namespace lake::operation {
namespace {

base::Error too_many() {
  return base::fail(base::ErrorKind::kTooLarge,
                    "add-snapshot: deletes more rows than one commit may; commit in parts");
}

}  // namespace

void CommitFiles::begin(const ListDiff& diff) {
  snapshots_ += 1;
  for (auto& [location, place] : places_) place.removed_now = 0;
  for (const std::string& location : diff.removed) {
    Place& place = places_[location];
    place.removed += 1;
    place.removed_now += 1;
  }
  for (std::size_t i = 0; i < diff.added.size(); ++i) {
    const model::DataFile& file = diff.added[i].file;
    FileRow row;
    row.added = {snapshot(), i};
    row.record_count = file.record_count;
    places_[file.file_path].rows.push_back(std::move(row));
  }
}

std::vector<std::string> CommitFiles::unknown(const std::set<std::string>& locations) const {
  std::vector<std::string> result;
  for (const std::string& location : locations) {
    auto found = places_.find(location);
    if (found == places_.end() || !found->second.known) result.push_back(location);
  }
  return result;
}

void CommitFiles::know(const std::vector<std::string>& asked,
                       std::vector<ducklake::LiveFile> rows) {
  std::map<std::string, std::vector<FileRow>> of_lake;
  for (ducklake::LiveFile& live : rows) {
    FileRow row;
    row.record_count = live.record_count;
    std::ranges::sort(live.inlined);
    auto& all = of_lake[live.location];
    row.live = std::move(live);
    all.push_back(std::move(row));
  }
  for (const std::string& location : asked) {
    Place& place = places_[location];
    place.known = true;
    auto& older = of_lake[location];
    std::ranges::move(place.rows, std::back_inserter(older));
    place.rows = std::move(older);
  }
}

std::span<FileRow> CommitFiles::rows(const std::string& location) {
  auto found = places_.find(location);
  if (found == places_.end()) return {};
  std::span<FileRow> all = found->second.rows;
  return all.subspan(std::min(found->second.removed, all.size()));
}

std::size_t CommitFiles::removed_now(const std::string& location) const {
  auto found = places_.find(location);
  return found == places_.end() ? 0 : found->second.removed_now;
}

std::size_t CommitFiles::removed(const std::string& location) const {
  auto found = places_.find(location);
  return found == places_.end() ? 0 : found->second.removed;
}

base::Status CommitFiles::remember(FileRow& row, const std::string& delete_file,
                                   exporter::Positions positions) {
  positions_ += positions.size();
  if (positions_ > exporter::kMostPositionsAtOnce) {
    return too_many();
  }
  row.deletes.insert_or_assign(delete_file, std::move(positions));
  return {};
}

base::Status CommitFiles::remember_group(const std::string& location,
                                         const std::string& delete_file,
                                         exporter::Positions positions) {
  positions_ += positions.size();
  if (positions_ > exporter::kMostPositionsAtOnce) return too_many();
  groups_[location].insert_or_assign(delete_file, std::move(positions));
  return {};
}

void CommitFiles::forget_group(const std::string& location, const std::string& delete_file) {
  auto found = groups_.find(location);
  if (found != groups_.end()) found->second.erase(delete_file);
}

const std::map<std::string, exporter::Positions>* CommitFiles::group(
    const std::string& location) const {
  auto found = groups_.find(location);
  return found == groups_.end() ? nullptr : &found->second;
}

void CommitFiles::note_returned(const std::string& location, const exporter::Positions& positions) {
  if (!positions.empty()) returned_[location].insert(positions.begin(), positions.end());
}

bool CommitFiles::was_returned(const std::string& location,
                               const exporter::Positions& positions) const {
  auto found = returned_.find(location);
  return found != returned_.end() &&
         std::ranges::any_of(positions, [&](auto each) { return found->second.contains(each); });
}

void CommitFiles::note_deletes(const ListDiff& diff) {
  for (const auto& added : diff.added_deletes) delete_files_.insert(key_of(added.file));
}

std::set<std::string> CommitFiles::deleted_by(const std::string& delete_file) const {
  std::set<std::string> locations;
  for (const auto& [location, place] : places_) {
    for (const FileRow& row : place.rows) {
      if (row.deletes.contains(delete_file)) locations.insert(location);
    }
  }
  for (const auto& [location, deletes] : groups_) {
    if (deletes.contains(delete_file)) locations.insert(location);
  }
  return locations;
}

}  // namespace lake::operation

// Random histories of a table, as DuckLake's rows, cut into ranges as a
// publisher reads them, with some snapshots removed. What the manifests show at
// each snapshot is compared with the rows that are live in it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "lakeproxy/derive/plan/derived_object_names.h"
#include "lakeproxy/to_iceberg/snapshot/change_split.h"
#include "lakeproxy/to_iceberg/snapshot/partial_files.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_chain.h"

namespace lake::materialize {
namespace {

using model::DataFileId;
using model::LakeChanges;
using model::SnapshotId;
using Positions = std::set<std::int64_t>;
/// Live positions of each location.
using Live = std::map<std::string, Positions>;

constexpr std::int64_t kRows = 10;

class History {
 public:
  explicit History(unsigned seed) : random_(seed) {}

  void grow(std::int64_t snapshots) {
    for (head_ = 1; head_ <= snapshots; ++head_) step();
    head_ = snapshots;
  }

  /// Everything of the range that a reader hands over.
  [[nodiscard]] LakeChanges range(std::optional<SnapshotId> after,
                                  std::vector<std::int64_t> commits) const;
  [[nodiscard]] Live live_at(SnapshotId at, const model::LakeTable& table) const;
  /// All positions of a delete file of DuckDB.
  [[nodiscard]] const Positions& positions_of(std::int64_t delete_file) const {
    return positions_.at(delete_file);
  }
  /// When each position of a delete file was deleted; nothing for those that
  /// one commit wrote.
  [[nodiscard]] const model::RowEnds* ends_of(std::int64_t delete_file) const {
    auto ends = ends_.find(delete_file);
    return ends == ends_.end() ? nullptr : &ends->second;
  }
  /// When each row of a partial file began.
  [[nodiscard]] const std::vector<std::int64_t>& begins_of(DataFileId file) const {
    return begins_.at(file);
  }
  std::int64_t pick(std::int64_t below) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
  }

 private:
  void step();
  void append();
  void append_partial();
  void drop();
  void delete_from_file(model::LakeDataFile& file);
  void insert_rows();
  void end_rows();
  model::LakeDataFile* live_file();
  [[nodiscard]] Positions deleted(const model::LakeDataFile& file, SnapshotId at) const;

  std::mt19937 random_;
  std::int64_t head_ = 0;
  std::map<DataFileId, model::LakeDataFile> files_;
  std::vector<model::LakeDeleteFile> delete_files_;
  std::map<std::int64_t, Positions> positions_;
  std::map<std::int64_t, model::RowEnds> ends_;
  std::map<DataFileId, std::vector<std::int64_t>> begins_;
  std::vector<model::LakeInlinedDelete> inlined_deletes_;
  std::map<std::int64_t, std::vector<model::LakeInlinedRow>> inlined_;  ///< By schema version.
  std::int64_t next_row_ = 0;
};

void History::append() {
  auto file = lake_file(static_cast<std::int64_t>(files_.size()) + 1, head_);
  if (pick(2) == 0) {
    file.partition_id = kPartition;
    std::string high = std::to_string(pick(3));
    file.stats = {{.column_id = 1, .null_count = 0, .min_value = "1", .max_value = high}};
  }
  files_.emplace(file.id, file);
}

// What a merge or a flush leaves: the file stands there from its first row on.
void History::append_partial() {
  auto file = lake_file(static_cast<std::int64_t>(files_.size()) + 1, head_);
  const std::int64_t last = head_ + pick(9);
  auto& begins = begins_[file.id];
  for (std::int64_t row = 0; row < kRows; ++row) begins.push_back(head_ + pick(last - head_ + 1));
  begins.front() = head_;
  begins.back() = last;
  if (pick(2) == 0) std::ranges::shuffle(begins, random_);
  file.partial_max = SnapshotId(last);
  files_.emplace(file.id, file);
}

model::LakeDataFile* History::live_file() {
  std::vector<model::LakeDataFile*> live;
  for (auto& [id, file] : files_) {
    if (!file.end && file.begin.value < head_) live.push_back(&file);
  }
  return live.empty() ? nullptr : live[static_cast<std::size_t>(pick(std::ssize(live)))];
}

void History::drop() {
  if (auto* file = live_file()) file->end = SnapshotId(head_);
}

Positions History::deleted(const model::LakeDataFile& file, SnapshotId at) const {
  Positions gone;
  for (const auto& held : delete_files_) {
    if (held.data_file_id != file.id || held.begin > at || (held.end && *held.end <= at)) continue;
    if (const auto* ends = ends_of(held.id)) {
      for (const auto& row : *ends) {
        if (row.end <= at) gone.insert(row.position);
      }
      continue;
    }
    const Positions& more = positions_.at(held.id);
    gone.insert(more.begin(), more.end());
  }
  for (const auto& held : inlined_deletes_) {
    if (held.data_file_id == file.id && held.begin <= at) gone.insert(held.row_id);
  }
  return gone;
}

void History::delete_from_file(model::LakeDataFile& file) {
  std::int64_t position = pick(kRows);
  if (pick(2) == 0) {
    inlined_deletes_.push_back(
        {.data_file_id = file.id, .row_id = position, .begin = SnapshotId(head_)});
    return;
  }
  auto all = deleted(file, SnapshotId(head_));
  for (auto& held : delete_files_) {
    if (held.data_file_id != file.id || held.end) continue;
    if (held.begin.value == head_) return;
    auto ends = ends_.find(held.id);
    if (ends != ends_.end() && pick(2) == 0) {
      // As if it had been written again.
      if (!all.contains(position)) ends->second.push_back({position, SnapshotId(head_)});
      held.partial_max = SnapshotId(head_);
      return;
    }
    held.end = SnapshotId(head_);
  }
  all.insert(position);
  auto id = std::ssize(delete_files_) + 1;
  delete_files_.push_back({.id = id, .data_file_id = file.id, .begin = SnapshotId(head_)});
  if (pick(2) == 0) {
    for (auto row : all) ends_[id].push_back({row, SnapshotId(head_)});
  }
  positions_[id] = std::move(all);
}

void History::insert_rows() {
  auto& rows = inlined_[pick(2) + 1];
  for (auto count = pick(4) + 1; count > 0; --count) {
    model::LakeInlinedRow row{.row_id = next_row_++, .begin = SnapshotId(head_)};
    if (pick(8) == 0) row.end = row.begin;
    rows.push_back(std::move(row));
  }
}

void History::end_rows() {
  for (auto& [version, rows] : inlined_) {
    for (auto& row : rows) {
      if (!row.end && row.begin.value < head_ && pick(5) == 0) row.end = SnapshotId(head_);
    }
  }
}

void History::step() {
  for (auto actions = pick(3) + 1; actions > 0; --actions) {
    switch (pick(7)) {
      case 0: drop(); break;
      case 1: insert_rows(); break;
      case 2: end_rows(); break;
      case 3:
      case 4:
        if (auto* file = live_file()) delete_from_file(*file);
        break;
      case 5: append_partial(); break;
      default: append(); break;
    }
  }
}

LakeChanges History::range(std::optional<SnapshotId> after,
                           std::vector<std::int64_t> commits) const {
  LakeChanges all;
  all.after = after;
  all.up_to = SnapshotId(commits.back());
  for (auto id : commits) all.commits.push_back(lake_commit(id));
  auto inside = [&](std::optional<SnapshotId> id) {
    return id && (!after || *id > *after) && *id <= all.up_to;
  };
  std::set<DataFileId> touched;
  for (const auto& [id, file] : files_) {
    if (inside(file.begin) || inside(file.end)) touched.insert(id);
    if (file.partial_max && file.begin <= all.up_to && (!after || *file.partial_max > *after)) {
      touched.insert(id);
    }
  }
  for (const auto& held : delete_files_) {
    if (inside(held.begin) || inside(held.end)) touched.insert(held.data_file_id);
    if (held.partial_max && held.begin <= all.up_to && (!after || *held.partial_max > *after)) {
      touched.insert(held.data_file_id);
    }
  }
  for (const auto& held : inlined_deletes_) {
    if (inside(held.begin)) touched.insert(held.data_file_id);
  }
  for (DataFileId id : touched) all.data_files.emplace(id, files_.at(id));
  for (const auto& held : delete_files_) {
    if (touched.contains(held.data_file_id)) all.delete_files.push_back(held);
  }
  for (const auto& held : inlined_deletes_) {
    if (touched.contains(held.data_file_id)) all.inlined_deletes.push_back(held);
  }
  for (const auto& [version, rows] : inlined_) {
    std::set<SnapshotId> groups;
    for (const auto& row : rows) {
      if (inside(row.begin) || inside(row.end)) groups.insert(row.begin);
    }
    model::LakeInlinedTable table{.schema_version = version, .columns = {}, .rows = {}};
    for (const auto& row : rows) {
      if (groups.contains(row.begin)) table.rows.push_back(row);
    }
    if (!table.rows.empty()) all.inlined.push_back(std::move(table));
  }
  return all;
}

Live History::live_at(SnapshotId at, const model::LakeTable& table) const {
  Live live;
  for (const auto& [id, file] : files_) {
    if (file.begin > at || (file.end && *file.end <= at)) continue;
    auto gone = deleted(file, at);
    auto& rows = live[file.path];
    for (std::int64_t i = 0; i < kRows; ++i) {
      auto begins = begins_.find(id);
      if (begins != begins_.end() && begins->second[static_cast<std::size_t>(i)] > at.value) {
        continue;
      }
      if (!gone.contains(i)) rows.insert(i);
    }
  }
  for (const auto& [version, rows] : inlined_) {
    std::map<SnapshotId, std::int64_t> next;
    for (const auto& row : rows) {
      if (row.begin > at || row.end == row.begin) continue;
      auto position = next[row.begin]++;
      if (row.end && *row.end <= at) continue;
      live[inlined_location(table, version, row.begin)].insert(position);
    }
  }
  return live;
}

/// Publishes ranges of a history and keeps what was exported.
class Published {
 public:
  Published(const History& history, PartialLimits limits) : history_(history), limits_(limits) {}

  /// Returns the last snapshot that was shown; nothing when all stay hidden.
  std::optional<SnapshotId> publish(LakeChanges changes) {
    for (DataFileId id : partial_files_to_read(changes, limits_)) {
      auto begins = std::make_shared<model::RowSnapshotIds>();
      for (auto begin : history_.begins_of(id)) begins->add(SnapshotId(begin));
      changes.row_snapshot_ids.emplace(id, std::move(begins));
    }
    for (const auto* file : delete_files_to_read(changes)) {
      auto ends = history_.ends_of(file->id);
      if (ends) changes.row_ends.emplace(file->id, std::make_shared<model::RowEnds>(*ends));
    }
    hide_commits(changes, limits_);
    if (changes.commits.empty()) return std::nullopt;
    ExportPlan plan = plan_exports(chain.table, changes);
    auto split = split_changes(chain.table, changes, plan, export_all(plan));
    EXPECT_TRUE(split) << split.error().message();
    for (const auto& change : *split) {
      chain.apply(change);
      check(change);
    }
    return changes.commits.back().snapshot;
  }

  SnapshotChain chain;

 private:
  Exported export_all(const ExportPlan& plan) {
    Exported made;
    for (const auto& group : plan.inlined) {
      made[group.location].record_count = std::ssize(group.rows);
    }
    for (const auto& group : plan.deletes) {
      Positions all(group.positions.begin(), group.positions.end());
      if (group.source) {
        const Positions& more = history_.positions_of(group.source->id);
        all.insert(more.begin(), more.end());
      }
      if (group.begins) {
        auto younger = group.begins->after(group.snapshot);
        all.insert(younger.begin(), younger.end());
      }
      made[group.location].record_count = std::ssize(all);
      deletes_[group.location] = std::move(all);
    }
    return made;
  }

  void check(const SnapshotChange& change);
  void check_totals(std::int64_t files, std::int64_t rows, std::int64_t deletes);

  const History& history_;
  PartialLimits limits_;
  std::map<std::string, Positions> deletes_;
  std::map<std::string, std::int64_t> added_at_;  ///< Sequence number of each live file.
};

void Published::check_totals(std::int64_t files, std::int64_t rows, std::int64_t deletes) {
  const auto& summary = chain.snapshots.back().summary;
  EXPECT_EQ(summary.at("total-data-files"), std::to_string(files));
  EXPECT_EQ(summary.at("total-records"), std::to_string(rows));
  EXPECT_EQ(summary.at("total-delete-files"), std::to_string(deletes));
}

void Published::check(const SnapshotChange& change) {
  const model::Snapshot& snapshot = chain.snapshots.back();
  SCOPED_TRACE(snapshot.snapshot_id.value);
  Live live;
  std::map<std::string, const model::DataFile*> data;
  std::multiset<std::string> gone;
  std::int64_t rows = 0, deletes = 0;
  auto seen = chain.read(snapshot);
  for (const auto& [entry, manifest] : seen) {
    const auto& file = entry.data_file;
    if (entry.status == model::EntryStatus::kDeleted) {
      if (entry.snapshot_id == snapshot.snapshot_id && file.content == model::FileContent::kData) {
        gone.insert(file.file_path);
      }
      continue;
    }
    auto sequence = added_at_.emplace(file.file_path, snapshot.sequence_number).first->second;
    EXPECT_EQ(entry.sequence_number, sequence) << file.file_path;
    EXPECT_EQ(entry.file_sequence_number, sequence) << file.file_path;
    if (file.content != model::FileContent::kData) continue;
    EXPECT_TRUE(data.emplace(file.file_path, &file).second) << "twice: " << file.file_path;
    rows += file.record_count;
    for (std::int64_t i = 0; i < file.record_count; ++i) live[file.file_path].insert(i);
  }
  for (const auto& [entry, manifest] : seen) {
    const auto& file = entry.data_file;
    if (entry.status == model::EntryStatus::kDeleted || file.content == model::FileContent::kData) {
      continue;
    }
    ++deletes;
    auto target = data.find(*file.referenced_data_file);
    ASSERT_NE(target, data.end()) << "deletes of a file that is gone: " << file.file_path;
    EXPECT_EQ(target->second->partition, file.partition);
    data.erase(target);  // A second delete file of the same data file fails above.
    for (auto position : deletes_.at(file.file_path)) {
      EXPECT_EQ(live[*file.referenced_data_file].erase(position), 1U);
    }
  }
  EXPECT_EQ(live, history_.live_at(snapshot.snapshot_id, chain.table));
  EXPECT_EQ(gone, std::multiset(change.removed_data.begin(), change.removed_data.end()));
  check_totals(std::ssize(live), rows, deletes);
}

TEST(RandomHistory, every_snapshot_shows_the_rows_that_are_live_in_it) {
  for (unsigned seed = 1; seed <= 60 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    History history(seed);
    const std::int64_t length = seed % 10 == 0 ? 150 : 25;
    history.grow(length);
    // Even seeds cannot afford all that they would show.
    PartialLimits limits;
    if (seed % 2 == 0) limits = {.rows_read = 8 * kRows, .delete_files = 6, .positions = 40};
    Published published(history, limits);
    std::optional<SnapshotId> after;
    std::vector<std::int64_t> commits;
    // Seeds divisible by three keep every snapshot; the others have lost some.
    for (std::int64_t id = 1; id <= length; ++id) {
      if (id == length || seed % 3 == 0 || history.pick(3) != 0) commits.push_back(id);
      if (commits.empty() || (id != length && history.pick(4) != 0)) continue;
      auto last = published.publish(history.range(after, commits));
      if (!last) continue;
      after = last;
      commits.clear();
      if (history.pick(2) == 0) published.chain.forget();
    }
  }
}

}  // namespace
}  // namespace lake::materialize

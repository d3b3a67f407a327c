// Random histories of a table, as DuckLake's rows, published piece by piece while they
// grow, with some snapshots removed. Maintenance replaces files and rows behind what is
// published. What the manifests show at each snapshot is compared with the rows that
// were live when it was made.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <ranges>
#include <set>

#include "lakeproxy/derive/plan/derived_object_names.h"
#include "lakeproxy/to_iceberg/snapshot/change_split.h"
#include "lakeproxy/to_iceberg/snapshot/partial_files.h"
#include "lakeproxy/to_iceberg/snapshot/rebase.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_chain.h"

namespace lake::materialize {
namespace {

using model::DataFileId;
using model::LakeChanges;
using model::SnapshotId;
using Positions = std::set<std::int64_t>;
using Rows = std::multiset<std::int64_t>;  ///< Their ids.

constexpr std::int64_t kRows = 10;

class History {
 public:
  explicit History(unsigned seed) : random_(seed) {}

  /// One more snapshot of the lake.
  void step();
  /// What a reader hands over of (after, head], with the commits that are still there.
  [[nodiscard]] LakeChanges read(std::optional<SnapshotId> after,
                                 const std::vector<std::int64_t>& commits) const;
  [[nodiscard]] const Rows& rows_at(SnapshotId snapshot) const { return truth_.at(snapshot.value); }
  /// The ids of the rows of a file, also of one that was replaced.
  [[nodiscard]] const std::vector<std::int64_t>& ids_of(const std::string& path) const {
    return ids_.at(path);
  }
  /// Positions of a delete file that count at `snapshot`.
  [[nodiscard]] Positions positions_of(std::int64_t delete_file, SnapshotId snapshot) const {
    Positions seen;
    for (const auto& [position, end] : deletes_.at(delete_file)) {
      if (end <= snapshot) seen.insert(position);
    }
    return seen;
  }
  [[nodiscard]] std::shared_ptr<const model::RowEnds> ends_of(std::int64_t delete_file) const {
    model::RowEnds ends;
    for (const auto& [position, end] : deletes_.at(delete_file)) ends.push_back({position, end});
    return std::make_shared<const model::RowEnds>(std::move(ends));
  }
  std::int64_t pick(std::int64_t below) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
  }

 private:
  void change();
  void merge();
  void flush();
  void flush_deletes();
  void append();
  void drop();
  void delete_row();
  void insert_rows();
  void end_rows();
  void add_delete_file(DataFileId file, std::map<std::int64_t, SnapshotId> positions);
  model::LakeDataFile* live_file();
  [[nodiscard]] Positions deleted(const model::LakeDataFile& file) const;
  [[nodiscard]] Rows live() const;
  model::LakeDataFile& add_file(std::int64_t begin, std::vector<std::int64_t> ids);

  std::mt19937 random_;
  std::int64_t head_ = 0;
  std::map<DataFileId, model::LakeDataFile> files_;
  std::vector<model::LakeDeleteFile> delete_files_;
  std::map<std::int64_t, std::map<std::int64_t, SnapshotId>> deletes_;
  std::map<DataFileId, SnapshotId> flushes_;  ///< Of files whose rows ended before it.
  std::vector<model::LakeInlinedDelete> inlined_deletes_;
  std::map<std::int64_t, std::vector<model::LakeInlinedRow>> inlined_;  ///< By schema version.
  std::map<std::string, std::vector<std::int64_t>> ids_;
  std::map<std::int64_t, Rows> truth_;
  std::set<std::int64_t> row_changes_;  ///< Snapshots that are no maintenance.
  std::optional<SnapshotId> last_maintenance_;
  std::int64_t next_row_ = 0;
  std::int64_t next_file_ = 0;
};

model::LakeDataFile& History::add_file(std::int64_t begin, std::vector<std::int64_t> ids) {
  auto file = lake_file(++next_file_, begin);
  file.record_count = std::ssize(ids);
  ids_[file.path] = std::move(ids);
  return files_.emplace(file.id, std::move(file)).first->second;
}

void History::append() {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < kRows; ++i) ids.push_back(next_row_++);
  auto& file = add_file(head_, std::move(ids));
  if (pick(2) == 0) {
    file.partition_id = kPartition;
    std::string high = std::to_string(pick(3));
    file.stats = {{.column_id = 1, .null_count = 0, .min_value = "1", .max_value = high}};
  }
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

// At the head, where every delete counts.
Positions History::deleted(const model::LakeDataFile& file) const {
  Positions gone;
  for (const auto& held : delete_files_) {
    if (held.data_file_id != file.id || held.end) continue;
    for (const auto& [position, end] : deletes_.at(held.id)) gone.insert(position);
  }
  for (const auto& held : inlined_deletes_) {
    if (held.data_file_id == file.id) gone.insert(held.row_id);
  }
  return gone;
}

void History::add_delete_file(DataFileId file, std::map<std::int64_t, SnapshotId> positions) {
  auto [first, last] = std::ranges::minmax(positions | std::views::values);
  const std::int64_t id = ++next_file_;
  delete_files_.push_back({.id = id, .data_file_id = file, .begin = first});
  auto& added = delete_files_.back();
  added.delete_count = std::ssize(positions);
  if (first < last) added.partial_max = last;
  deletes_[id] = std::move(positions);
}

void History::delete_row() {
  auto* file = live_file();
  if (file == nullptr) return;
  const std::int64_t position = pick(file->record_count);
  auto all = deleted(*file);
  if (all.contains(position)) return;
  if (pick(2) == 0) {
    inlined_deletes_.push_back(
        {.data_file_id = file->id, .row_id = position, .begin = SnapshotId(head_)});
    return;
  }
  auto held = std::ranges::find_if(
      delete_files_, [&](const auto& one) { return one.data_file_id == file->id && !one.end; });
  if (held != delete_files_.end() && pick(2) == 0) {
    // Written anew in its place, as DuckDB 1.5.5 does.
    auto positions = deletes_.at(held->id);
    positions[position] = SnapshotId(head_);
    delete_files_.erase(held);
    add_delete_file(file->id, std::move(positions));
    return;
  }
  if (held != delete_files_.end()) {
    if (held->begin.value == head_ || held->partial_max == SnapshotId(head_)) return;
    held->end = SnapshotId(head_);
  }
  all.insert(position);
  std::map<std::int64_t, SnapshotId> positions;
  for (auto each : all) positions[each] = SnapshotId(head_);
  add_delete_file(file->id, std::move(positions));
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

// Files without deletes become one, which stands there from the first of them on.
void History::merge() {
  std::vector<DataFileId> merged;
  for (const auto& [id, file] : files_) {
    if (!file.end && deleted(file).empty() && pick(3) != 0) merged.push_back(id);
  }
  if (merged.size() < 2) return;
  std::vector<std::int64_t> ids;
  SnapshotId first(head_), last(0);
  for (DataFileId id : merged) {
    const auto& file = files_.at(id);
    const auto& more = ids_.at(file.path);
    ids.insert(ids.end(), more.begin(), more.end());
    first = std::min(first, file.begin);
    last = std::max({last, file.begin, file.partial_max.value_or(file.begin)});
    files_.erase(id);
  }
  auto& file = add_file(first.value, std::move(ids));
  if (first < last) file.partial_max = last;
}

void History::flush() {
  for (auto& [version, rows] : inlined_) {
    std::erase_if(rows, [](const auto& row) { return row.end == row.begin; });
    if (rows.empty()) continue;
    std::vector<std::int64_t> ids;
    std::map<std::int64_t, SnapshotId> ended;
    SnapshotId first(head_), last(0);
    for (const auto& row : rows) {
      if (row.end) ended[std::ssize(ids)] = *row.end;
      ids.push_back(row.row_id);
      first = std::min(first, row.begin);
      last = std::max(last, row.begin);
    }
    rows.clear();
    auto& file = add_file(first.value, std::move(ids));
    file.partial_max = last;
    if (ended.empty()) continue;
    add_delete_file(file.id, std::move(ended));
    delete_files_.back().partial_max = std::nullopt;
    flushes_[file.id] = SnapshotId(head_);
  }
}

// Of each file all of them, beside those that its delete file holds.
void History::flush_deletes() {
  std::map<DataFileId, std::map<std::int64_t, SnapshotId>> all;
  for (const auto& held : inlined_deletes_) all[held.data_file_id][held.row_id] = held.begin;
  inlined_deletes_.clear();
  for (auto& [file, positions] : all) {
    const SnapshotId first = std::ranges::min(positions | std::views::values);
    for (auto& held : delete_files_) {
      if (held.data_file_id != file || held.end) continue;
      for (const auto& [position, end] : deletes_.at(held.id)) positions.emplace(position, end);
      held.end = std::max(first, held.begin);
    }
    std::erase_if(delete_files_, [](const auto& held) { return held.end == held.begin; });
    add_delete_file(file, std::move(positions));
  }
}

void History::change() {
  for (auto actions = pick(3) + 1; actions > 0; --actions) {
    switch (pick(6)) {
      case 0: drop(); break;
      case 1: insert_rows(); break;
      case 2: end_rows(); break;
      case 3:
      case 4: delete_row(); break;
      default: append(); break;
    }
  }
}

void History::step() {
  ++head_;
  const Rows before = live();
  if (pick(4) != 0) {
    change();
    row_changes_.insert(head_);
  } else {
    if (pick(2) == 0) {
      merge();
    } else {
      flush();
      flush_deletes();
    }
    last_maintenance_ = SnapshotId(head_);
    ASSERT_EQ(live(), before) << "the test's own maintenance";
  }
  truth_[head_] = live();
}

Rows History::live() const {
  Rows rows;
  for (const auto& [id, file] : files_) {
    if (file.end) continue;
    const auto gone = deleted(file);
    const auto& ids = ids_.at(file.path);
    for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
      if (!gone.contains(i)) rows.insert(ids[static_cast<std::size_t>(i)]);
    }
  }
  for (const auto& [version, held] : inlined_) {
    for (const auto& row : held) {
      if (!row.end) rows.insert(row.row_id);
    }
  }
  return rows;
}

LakeChanges History::read(std::optional<SnapshotId> after,
                          const std::vector<std::int64_t>& commits) const {
  LakeChanges all;
  all.up_to = SnapshotId(head_);
  const bool anew = after && last_maintenance_ > after;
  (anew ? all.published : all.after) = after;
  for (auto id : commits) {
    all.commits.push_back(
        lake_commit(id, row_changes_.contains(id) ? "inserted_into_table:1" : "merge_adjacent:1"));
    const bool is_next = all.commits.size() < 2 || all.commits.end()[-2].snapshot.value == id - 1;
    all.commits.back().stands_for_others = !is_next;
  }
  if (anew) {
    // A gap counts as a change.
    for (std::int64_t id = after->value + 1; id <= head_ && !all.first_row_change; ++id) {
      const bool is_there = std::ranges::binary_search(commits, id);
      if (row_changes_.contains(id) || !is_there) all.first_row_change = SnapshotId(id);
    }
  }
  auto inside = [&](std::optional<SnapshotId> id) { return id && (!after || *id > *after); };
  std::set<DataFileId> touched;
  for (const auto& [id, file] : files_) {
    if (inside(file.begin) || inside(file.end) || (anew && !file.end)) touched.insert(id);
  }
  for (const auto& held : delete_files_) {
    if (inside(held.begin) || inside(held.end) || inside(held.partial_max)) {
      touched.insert(held.data_file_id);
    }
  }
  for (const auto& held : inlined_deletes_) {
    if (inside(held.begin)) touched.insert(held.data_file_id);
  }
  for (DataFileId id : touched) {
    if (files_.contains(id)) all.data_files.emplace(id, files_.at(id));
  }
  for (const auto& held : delete_files_) {
    if (!touched.contains(held.data_file_id)) continue;
    all.delete_files.push_back(held);
    auto flush = flushes_.find(held.data_file_id);
    if (!held.partial_max && flush != flushes_.end()) {
      all.delete_files.back().flushed_at = flush->second;
    }
  }
  for (const auto& held : inlined_deletes_) {
    if (touched.contains(held.data_file_id)) all.inlined_deletes.push_back(held);
  }
  for (const auto& [version, rows] : inlined_) {
    std::set<SnapshotId> groups;
    for (const auto& row : rows) {
      if (anew || inside(row.begin) || inside(row.end)) groups.insert(row.begin);
    }
    model::LakeInlinedTable table{.schema_version = version, .columns = {}, .rows = {}};
    for (const auto& row : rows) {
      if (groups.contains(row.begin)) table.rows.push_back(row);
    }
    if (!table.rows.empty()) all.inlined.push_back(std::move(table));
  }
  return all;
}

/// Publishes a history while it grows, and keeps what was exported.
class Published {
 public:
  explicit Published(const History& history) : history_(history) {}

  void publish(LakeChanges changes);
  [[nodiscard]] std::optional<SnapshotId> newest() const {
    if (chain_.snapshots.empty()) return std::nullopt;
    return chain_.snapshots.back().snapshot_id;
  }
  /// Every published snapshot shows the rows that it had when it was made.
  void check() const {
    for (const auto& snapshot : chain_.snapshots) check(snapshot);
  }
  void forget() { chain_.forget(); }

 private:
  Exported export_all(const ExportPlan& plan);
  void check(const model::Snapshot& snapshot) const;

  const History& history_;
  SnapshotChain chain_;
  std::map<std::string, std::vector<std::int64_t>> inlined_;  ///< Ids, by location.
  std::map<std::string, Positions> deletes_;
};

Exported Published::export_all(const ExportPlan& plan) {
  Exported made;
  for (const auto& group : plan.inlined) {
    auto& ids = inlined_[group.location];
    ids.clear();
    for (const auto& row : group.rows) ids.push_back(row.row_id);
    made[group.location].record_count = std::ssize(ids);
  }
  for (const auto& group : plan.deletes) {
    Positions all(group.positions.begin(), group.positions.end());
    if (group.source) all.merge(history_.positions_of(group.source->id, group.snapshot));
    made[group.location].record_count = std::ssize(all);
    deletes_[group.location] = std::move(all);
  }
  return made;
}

void Published::publish(LakeChanges changes) {
  for (const auto* file : delete_files_to_read(changes)) {
    changes.row_ends.emplace(file->id, history_.ends_of(file->id));
  }
  hide_commits(changes);
  if (changes.commits.empty()) return;
  std::optional<Rebase> rebase;
  if (changes.published) {
    chain_.load_all();
    rebase.emplace(chain_.list, changes);
    rebase->leave_out_known(changes);
  }
  ExportPlan plan = plan_exports(chain_.table, changes);
  if (rebase) rebase->leave_out_known(plan);
  auto split = split_changes(chain_.table, changes, plan, export_all(plan));
  ASSERT_TRUE(split) << split.error().message();
  if (rebase) rebase->apply(changes, split->front());
  for (const auto& change : *split) {
    const auto before = newest();
    chain_.apply(change);
    const auto& made = chain_.snapshots.back();
    check(made);
    if (made.operation != model::Operation::kReplace) continue;
    EXPECT_EQ(before ? history_.rows_at(*before) : Rows(), history_.rows_at(made.snapshot_id))
        << "a replace";
  }
}

void Published::check(const model::Snapshot& snapshot) const {
  SCOPED_TRACE(snapshot.snapshot_id.value);
  Rows rows;
  std::map<std::string, std::vector<std::int64_t>> data;
  std::set<std::string> deleted;
  std::int64_t records = 0;
  auto seen = chain_.read(snapshot);
  for (const auto& [entry, manifest] : seen) {
    const auto& file = entry.data_file;
    if (entry.status == model::EntryStatus::kDeleted) continue;
    if (file.content != model::FileContent::kData) continue;
    auto made = inlined_.find(file.file_path);
    const auto& ids = made == inlined_.end() ? history_.ids_of(file.file_path) : made->second;
    EXPECT_TRUE(data.emplace(file.file_path, ids).second) << "twice: " << file.file_path;
    EXPECT_EQ(file.record_count, std::ssize(ids));
    rows.insert(ids.begin(), ids.end());
    records += file.record_count;
  }
  for (const auto& [entry, manifest] : seen) {
    const auto& file = entry.data_file;
    if (entry.status == model::EntryStatus::kDeleted || file.content == model::FileContent::kData) {
      continue;
    }
    auto target = data.find(*file.referenced_data_file);
    ASSERT_NE(target, data.end()) << "deletes of a file that is gone: " << file.file_path;
    EXPECT_TRUE(deleted.insert(target->first).second) << "two delete files";
    for (auto position : deletes_.at(file.file_path)) {
      auto row = rows.find(target->second.at(static_cast<std::size_t>(position)));
      ASSERT_NE(row, rows.end());
      rows.erase(row);
    }
  }
  EXPECT_EQ(rows, history_.rows_at(snapshot.snapshot_id));
  EXPECT_EQ(snapshot.summary.at("total-records"), std::to_string(records));
  EXPECT_EQ(snapshot.summary.at("total-data-files"), std::to_string(data.size()));
  EXPECT_EQ(snapshot.summary.at("total-delete-files"), std::to_string(deleted.size()));
}

TEST(RandomHistory, every_snapshot_shows_the_rows_that_were_live_in_it) {
  for (unsigned seed = 1; seed <= 120 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    History history(seed);
    Published published(history);
    std::vector<std::int64_t> commits;
    const std::int64_t length = seed % 10 == 0 ? 120 : 30;
    for (std::int64_t id = 1; id <= length && !::testing::Test::HasFailure(); ++id) {
      history.step();
      // Seeds divisible by three keep every snapshot; the others have lost some.
      if (seed % 3 != 0 && id != length && history.pick(3) == 0) continue;
      commits.push_back(id);
      if (id != length && history.pick(3) != 0) continue;
      published.publish(history.read(published.newest(), commits));
      commits.clear();
      if (history.pick(2) == 0 && published.newest()) published.forget();
    }
    published.check();
    EXPECT_EQ(published.newest(), SnapshotId(length)) << "the newest is always shown";
  }
}

}  // namespace
}  // namespace lake::materialize

#include "lakeproxy/table_cache/table_invalidation.h"

#include <algorithm>

namespace lake::publish {
namespace {

// Above this, forgetting which tables changed is cheaper than keeping it.
constexpr std::size_t kMaxTables = 100'000;

}  // namespace

TableInvalidation::State TableInvalidation::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

void TableInvalidation::advance(model::LakeVersion from,
                                const ducklake::LakeReader::ChangedTables& changes) {
  std::lock_guard lock(mutex_);
  state_.generation += 1;
  bool complete = changes.tables.has_value() && changed_.size() < kMaxTables;
  if (complete) {
    for (const auto& [table, at] : *changes.tables) note(table, at);
  } else {
    changed_.clear();
    all_changed_ = state_.generation;
  }
  if (!changes.goes_on) {
    lost_commits_ = state_.generation;
    policies_ = 0;  // A lake that lost commits may have lost changes of governance, too.
  }
  // Two workers may advance at once from the same state; the one that saw less
  // must not take the other's progress back.
  bool newer = changes.version.snapshot >= state_.version.snapshot &&
               changes.version.revision >= state_.version.revision &&
               changes.version.format >= state_.version.format;
  if (newer || from == state_.version) state_.version = changes.version;
}

void TableInvalidation::note(model::TableId table, model::LakeVersion at) {
  model::LakeVersion& newest = changed_[table];
  newest.snapshot = std::max(newest.snapshot, at.snapshot);
  newest.revision = std::max(newest.revision, at.revision);
}

void TableInvalidation::note_commit(model::LakeVersion from, model::LakeVersion to,
                                    model::TableId table) {
  std::lock_guard lock(mutex_);
  if (state_.version != from) return;  // It will be asked for with what came before it.
  state_.version = to;
  note(table, to);
}

void TableInvalidation::note_policies(std::int64_t version) {
  std::lock_guard lock(mutex_);
  policies_ = std::max(policies_, version);
}

std::int64_t TableInvalidation::policies() const {
  std::lock_guard lock(mutex_);
  return policies_;
}

bool TableInvalidation::changed_since(model::TableId table, model::LakeVersion read_at,
                                      Generation generation) const {
  std::lock_guard lock(mutex_);
  if (all_changed_ > generation) return true;
  auto found = changed_.find(table);
  return found != changed_.end() &&
         (found->second.snapshot > read_at.snapshot || found->second.revision > read_at.revision);
}

bool TableInvalidation::lost_commits_since(Generation generation) const {
  std::lock_guard lock(mutex_);
  return lost_commits_ > generation;
}

bool TableInvalidation::shows(model::LakeVersion read_at, Generation generation,
                              const State& wanted) const {
  std::lock_guard lock(mutex_);
  return all_changed_ <= generation && read_at.snapshot >= wanted.version.snapshot &&
         read_at.revision >= wanted.version.revision;
}

}  // namespace lake::publish

#pragma once

// A loaded table is right as long as nobody changed the table. This knows, for all
// workers of the process, up to which state of the lake it has looked and which
// tables changed on the way, so that a request needs no more than the lake's two
// version numbers to trust the cache.
//
// A loaded table says at which state of the lake it was read, and is stale when the
// table changed after that. Where the history cannot tell which tables changed, all
// are stale that were read before this was learned: for that a cache entry remembers
// the generation at which its reading began.

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/model/ids.h"

namespace lake::publish {

/// Safe to use from any thread.
class TableInvalidation {
 public:
  using Generation = std::uint64_t;

  struct State {
    model::LakeVersion version;
    Generation generation = 0;
  };
  [[nodiscard]] State state() const;
  /// Takes in what changed after `from`.
  void advance(model::LakeVersion from, const ducklake::LakeReader::ChangedTables& changes);
  /// Takes in a commit of this process, which changed `table` and nothing else
  /// between two states.
  void note_commit(model::LakeVersion from, model::LakeVersion to, model::TableId table);
  /// The version of the policies that the lake's version question was answered with; the newest one
  /// is kept. A change of governance changes no table.
  void note_policies(std::int64_t version);
  [[nodiscard]] std::int64_t policies() const;
  /// Whether the table has changed since `read_at`, as far as is known here.
  /// `generation` is that of state() before the reading began.
  [[nodiscard]] bool changed_since(model::TableId table, model::LakeVersion read_at,
                                   Generation generation) const;
  /// Whether commits that a table loaded at `generation` may show were lost since: nothing
  /// may be built on it.
  [[nodiscard]] bool lost_commits_since(Generation generation) const;
  /// Whether what was read at `read_at` shows all that `wanted` knows of: a
  /// weaker question than changed_since(), for those who want no more than that.
  [[nodiscard]] bool shows(model::LakeVersion read_at, Generation generation,
                           const State& wanted) const;

 private:
  mutable std::mutex mutex_;
  State state_{model::LakeVersion{model::SnapshotId(-1), 0}, 0};
  Generation all_changed_ = 0;
  Generation lost_commits_ = 0;
  std::int64_t policies_ = 0;
  /// The newest snapshot and the newest revision that changed each table.
  std::unordered_map<model::TableId, model::LakeVersion> changed_;

  void note(model::TableId table, model::LakeVersion at);
};

}  // namespace lake::publish

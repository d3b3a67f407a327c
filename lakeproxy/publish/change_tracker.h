#pragma once

// A cached view of a table is right as long as nobody changed the table. The
// tracker knows, for all workers of the process, up to which state of the lake
// it has looked and which tables changed on the way, so that a request needs
// no more than the lake's two version numbers to trust the cache.
//
// A view remembers the tick at which its reading began. A change that the
// tracker learns of later has a higher tick and makes the view stale; a change
// that the view had already seen may do so once too often, which costs one
// more reading and never a wrong answer.

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "lakeproxy/ducklake/lake_catalog.h"
#include "lakeproxy/model/ids.h"

namespace lake::publish {

/// Safe to use from any thread.
class ChangeTracker {
 public:
  using Tick = std::uint64_t;

  struct State {
    model::LakeVersion version;
    Tick tick = 0;
  };
  [[nodiscard]] State state() const;
  /// Takes in what changed after `from`.
  void advance(model::LakeVersion from, const ducklake::LakeReader::ChangedTables& changes);
  /// Whether the table changed after `tick`, as far as the tracker knows.
  [[nodiscard]] bool changed_since(model::TableId table, Tick tick) const;

 private:
  mutable std::mutex mutex_;
  State state_{model::LakeVersion{model::SnapshotId(-1), 0}, 0};
  Tick all_changed_ = 0;
  std::unordered_map<model::TableId, Tick> changed_;
};

}  // namespace lake::publish

#pragma once

// The snapshots of a table. There may be thousands, each with a summary of a
// dozen texts, and every commit makes a new list that is the old one and one
// more. A snapshot never changes, so lists share them and copying a list costs
// no more than its pointers.

#include <boost/iterator/indirect_iterator.hpp>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "lakeproxy/iceberg/metadata/snapshot.h"

namespace lake::model {

using SnapshotPtr = std::shared_ptr<const Snapshot>;

/// Oldest first. Reads like a vector of snapshots; none of them is null.
class SnapshotList {
 public:
  using Items = std::vector<SnapshotPtr>;
  using const_iterator = boost::indirect_iterator<Items::const_iterator, const Snapshot>;
  using value_type = Snapshot;

  SnapshotList() = default;
  explicit SnapshotList(std::vector<Snapshot> snapshots) {
    items_.reserve(snapshots.size());
    for (Snapshot& snapshot : snapshots) push_back(std::move(snapshot));
  }

  void push_back(Snapshot snapshot) {
    items_.push_back(std::make_shared<const Snapshot>(std::move(snapshot)));
  }
  /// Shares a snapshot of another list.
  void push_back(SnapshotPtr snapshot) { items_.push_back(std::move(snapshot)); }
  void reserve(std::size_t count) { items_.reserve(count); }

  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] const Snapshot& operator[](std::size_t i) const { return *items_[i]; }
  [[nodiscard]] const Snapshot& back() const { return *items_.back(); }
  /// Null when there is none; the newest are looked at first.
  [[nodiscard]] const Snapshot* find(SnapshotId id) const {
    for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
      if ((*item)->snapshot_id == id) return item->get();
    }
    return nullptr;
  }
  [[nodiscard]] const_iterator begin() const { return const_iterator(items_.begin()); }
  [[nodiscard]] const_iterator end() const { return const_iterator(items_.end()); }
  [[nodiscard]] const Items& items() const { return items_; }

  friend bool operator==(const SnapshotList& a, const SnapshotList& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a.items_[i] != b.items_[i] && a[i] != b[i]) return false;
    }
    return true;
  }

 private:
  Items items_;
};

}  // namespace lake::model

#pragma once

// Merging and flushing put rows and deletes of several snapshots into one file
// each. What an older snapshot sees of them stands in a column of the file.
// Sources: DuckLake specification 1.0, "ducklake_data_file",
// "ducklake_delete_file", partial_max.

#include <cstdint>
#include <map>
#include <vector>

#include "lakeproxy/model/ids.h"

namespace lake::model {

/// That column of a data file, kept as runs: rows that began together mostly
/// stand together.
class RowSnapshotIds {
 public:
  /// The next row of the file is shown from `snapshot` on.
  void add(SnapshotId snapshot);

  [[nodiscard]] std::int64_t row_count() const { return row_count_; }
  /// The snapshots at which rows begin, with how many do.
  [[nodiscard]] std::map<SnapshotId, std::int64_t> rows_of_snapshots() const;
  /// Positions of the rows that `snapshot` does not see yet, ascending.
  [[nodiscard]] std::vector<std::int64_t> after(SnapshotId snapshot) const;

 private:
  struct Run {
    SnapshotId begin;
    std::int64_t rows = 0;
  };
  std::vector<Run> runs_;
  std::int64_t row_count_ = 0;
};

/// A position of a delete file, and the first snapshot that it counts for.
struct RowEnd {
  std::int64_t position = 0;
  SnapshotId end;

  friend bool operator==(const RowEnd&, const RowEnd&) = default;
};
using RowEnds = std::vector<RowEnd>;

}  // namespace lake::model

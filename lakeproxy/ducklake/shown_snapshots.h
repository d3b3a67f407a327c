#pragma once

// Merging and flushing put rows of several snapshots into one file. Before the
// last of them such a file shows too much, and a snapshot that sees it cannot
// be shown any more.
// Source: DuckLake specification 1.0, "ducklake_data_file", partial_max.

#include <vector>

#include "lakeproxy/model/ids.h"

namespace lake::ducklake {

/// Snapshots in [begin, end) see only part of a file.
struct PartialSpan {
  model::SnapshotId begin;
  model::SnapshotId end;
};

/// `snapshots` (rising) without those inside a span, in O((n + m) log m).
[[nodiscard]] std::vector<model::SnapshotId> shown_snapshots(
    const std::vector<model::SnapshotId>& snapshots, std::vector<PartialSpan> spans);

}  // namespace lake::ducklake

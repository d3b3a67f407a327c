#pragma once

// Not every snapshot of the lake becomes one of Iceberg: some change no rows,
// some stay hidden. What happened at one is shown by the next that does.

#include <optional>

#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::materialize {

/// The first listed commit at or after `snapshot`: the one that shows what
/// happened at `snapshot`. Nothing when that is after the last one.
[[nodiscard]] std::optional<model::SnapshotId> shown_at(const model::LakeChanges& changes,
                                                        model::SnapshotId snapshot);

/// Whether `snapshot` was shown by what was materialised before `changes`.
[[nodiscard]] bool shown_before(const model::LakeChanges& changes, model::SnapshotId snapshot);

/// Whether a snapshot before `at` shows what happened at `snapshot`.
[[nodiscard]] bool shown_earlier(const model::LakeChanges& changes, model::SnapshotId snapshot,
                                 model::SnapshotId at);

}  // namespace lake::materialize

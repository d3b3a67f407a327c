#pragma once

// What happened to the specs of a table, one thing after the other.

#include <cstdint>
#include <vector>

#include "lakeproxy/to_iceberg/definition/spec_history.h"

namespace lake::ducklake {

/// What happens at a snapshot, in this order.
enum class SpecEventKind { kCreated, kEnded, kBegun, kClient, kPath };

struct SpecEvent {
  model::SnapshotId at;
  SpecEventKind kind = SpecEventKind::kCreated;
  std::int64_t order = 0;
  const LakePartition* partition = nullptr;
  const ClientSpec* client = nullptr;
  const PathColumns* path = nullptr;
};

/// Oldest first. What the events point to are the arguments' elements. `created` is the
/// table's first snapshot.
[[nodiscard]] std::vector<SpecEvent> spec_events(const std::vector<LakePartition>& partitions,
                                                 const std::vector<ClientSpec>& clients,
                                                 const std::vector<PathColumns>& paths,
                                                 model::SnapshotId created);

}  // namespace lake::ducklake

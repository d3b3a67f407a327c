#include "lakeproxy/to_iceberg/definition/spec_events.h"

#include <algorithm>
#include <tuple>

namespace lake::ducklake {
namespace {

using model::SnapshotId;

// Whether something else takes the place of what ended.
bool is_replaced(SnapshotId end, const std::vector<LakePartition>& partitions,
                 const std::vector<ClientSpec>& clients) {
  return std::ranges::find(partitions, end, &LakePartition::begin) != partitions.end() ||
         std::ranges::any_of(clients, [&](const ClientSpec& client) {
           return client.begin == end && client.is_default;
         });
}

}  // namespace

std::vector<SpecEvent> spec_events(const std::vector<LakePartition>& partitions,
                                   const std::vector<ClientSpec>& clients,
                                   const std::vector<PathColumns>& paths, SnapshotId created) {
  std::vector<SpecEvent> events;
  auto add = [&](SpecEvent event) {
    event.order = static_cast<std::int64_t>(events.size());
    events.push_back(event);
  };
  if (clients.empty() || clients.front().begin > created) {
    add({.at = created, .kind = SpecEventKind::kCreated});
  }
  for (const LakePartition& partition : partitions) {
    add({.at = partition.begin, .kind = SpecEventKind::kBegun, .partition = &partition});
    if (partition.end && !is_replaced(*partition.end, partitions, clients)) {
      add({.at = *partition.end, .kind = SpecEventKind::kEnded, .partition = &partition});
    }
  }
  for (const ClientSpec& client : clients) {
    add({.at = client.begin, .kind = SpecEventKind::kClient, .client = &client});
  }
  for (const PathColumns& path : paths) {
    add({.at = path.begin, .kind = SpecEventKind::kPath, .path = &path});
  }
  std::ranges::sort(events, {},
                    [](const SpecEvent& e) { return std::tuple(e.at, e.kind, e.order); });
  return events;
}

}  // namespace lake::ducklake

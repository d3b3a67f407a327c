#include "lakeproxy/ducklake/shown_snapshots.h"

#include <algorithm>

namespace lake::ducklake {

std::vector<model::SnapshotId> shown_snapshots(const std::vector<model::SnapshotId>& snapshots,
                                               std::vector<PartialSpan> spans) {
  std::ranges::sort(spans, {}, &PartialSpan::begin);
  std::vector<model::SnapshotId> shown;
  model::SnapshotId hidden_until{INT64_MIN};
  auto span = spans.begin();
  for (model::SnapshotId snapshot : snapshots) {
    for (; span != spans.end() && span->begin <= snapshot; ++span) {
      hidden_until = std::max(hidden_until, span->end);
    }
    if (snapshot >= hidden_until) shown.push_back(snapshot);
  }
  return shown;
}

}  // namespace lake::ducklake

#include "lakeproxy/operation/commit/used_specs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/runtime/gather.h"

namespace lake::operation {
namespace {

// Manifest lists that are read at once.
constexpr std::size_t kReadsAtOnce = 16;

base::Status check_list(const model::Snapshot& snapshot,
                        const std::vector<model::ManifestFile>& list,
                        const std::set<std::int32_t>& removed) {
  for (const model::ManifestFile& manifest : list) {
    if (!removed.contains(manifest.partition_spec_id)) continue;
    return base::fail(
        base::ErrorKind::kConflict,
        fmt::format("remove-partition-specs: spec {} is that of a manifest of snapshot {}",
                    manifest.partition_spec_id, snapshot.snapshot_id.value));
  }
  return {};
}

}  // namespace

base::Task<base::Status> check_specs_unused(base::RequestContext context, Catalog* catalog,
                                            const model::TableMetadata* metadata,
                                            const std::set<std::int32_t>* removed) {
  if (removed->empty()) co_return base::Status{};
  const auto& snapshots = metadata->snapshots;
  for (std::size_t begin = 0; begin < snapshots.size(); begin += kReadsAtOnce) {
    std::vector<base::Task<base::Result<publish::ManifestList>>> reads;
    for (std::size_t i = begin; i < std::min(begin + kReadsAtOnce, snapshots.size()); ++i) {
      reads.push_back(catalog->manifests->list(context, snapshots[i].manifest_list));
    }
    auto lists = co_await base::gather(std::move(reads));
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (!lists[i]) co_return std::move(lists[i]).error();
      CO_RETURN_IF_ERROR(check_list(snapshots[begin + i], **lists[i], *removed));
    }
  }
  co_return base::Status{};
}

}  // namespace lake::operation

#include "lakeproxy/from_iceberg/commit/used_specs.h"

#include <fmt/format.h>

#include "base/runtime/gather.h"

namespace lake::operation {
namespace {

// Manifest lists that are read at once.
constexpr base::AtOnce kReadsAtOnce{16};

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
  auto read = [&](std::size_t i) {
    return catalog->manifests->list(context, snapshots[i].manifest_list);
  };
  auto check = [&](std::size_t i, const publish::ManifestList& list) {
    return check_list(snapshots[i], *list, *removed);
  };
  co_return co_await base::gather_few(kReadsAtOnce, snapshots.size(), read, check);
}

}  // namespace lake::operation

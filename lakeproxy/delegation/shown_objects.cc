#include "lakeproxy/delegation/shown_objects.h"

#include <set>

namespace lake::delegation {
namespace {

using base::ErrorKind;

// A snapshot without its list is no reason to give wider keys, nor the client's to mend.
base::Error unreadable(base::Error error) {
  if (error.kind() != ErrorKind::kNotFound && error.kind() != ErrorKind::kCorrupt) return error;
  return base::fail(ErrorKind::kUnavailable, "the table's files cannot be told now")
      .with_detail(error.message() + " " + error.detail());
}

struct Found {
  std::set<std::string> manifests;
  std::set<storage::ObjectKey> objects;
};

void take(const materialize::Entries& entries, const std::string& bucket, Found& found) {
  for (const auto& entry : *entries) {
    if (entry.status == model::EntryStatus::kDeleted) continue;
    // Elsewhere no key of ours reaches.
    if (auto key = storage::key_in(bucket, entry.data_file.file_path)) {
      found.objects.insert(std::move(*key));
    }
  }
}

}  // namespace

base::Task<base::Result<ShownObjects>> shown_objects(base::RequestContext context,
                                                     publish::ManifestStore* manifests,
                                                     std::string bucket,
                                                     publish::LoadedTablePtr loaded,
                                                     std::size_t most) {
  const auto& snapshots = loaded->metadata.snapshots.items();
  if (snapshots.size() > most) co_return ShownObjects{};
  Found found;
  // The newest list names nearly all there is, so that too many are known after the first.
  for (auto snapshot = snapshots.rbegin(); snapshot != snapshots.rend(); ++snapshot) {
    auto list = co_await manifests->list(context, (*snapshot)->manifest_list);
    if (!list) co_return unreadable(std::move(list).error());
    for (const model::ManifestFile& manifest : **list) {
      const std::int64_t files = std::int64_t{manifest.added_files_count} +
                                 std::int64_t{manifest.existing_files_count};
      if (files > static_cast<std::int64_t>(most)) co_return ShownObjects{};
      if (!found.manifests.insert(manifest.manifest_path).second) continue;
      if (found.manifests.size() > most) co_return ShownObjects{};
      auto entries = co_await manifests->entries(context, manifest.manifest_path);
      if (!entries) co_return unreadable(std::move(entries).error());
      take(*entries, bucket, found);
      if (found.objects.size() > most) co_return ShownObjects{};
    }
  }
  co_return ShownObjects(std::in_place, found.objects.begin(), found.objects.end());
}

}  // namespace lake::delegation

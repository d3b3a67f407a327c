#include "lakeproxy/delegation/shown_objects.h"

#include <algorithm>
#include <set>

#include "base/runtime/gather.h"

namespace lake::delegation {
namespace {

using base::ErrorKind;

constexpr base::AtOnce kReadsAtOnce{16};

// A snapshot without its list is no reason to give wider keys, nor the client's to mend.
base::Error unreadable(base::Error error) {
  if (error.kind() != ErrorKind::kNotFound && error.kind() != ErrorKind::kCorrupt) return error;
  return base::fail(ErrorKind::kUnavailable, "the table's files cannot be told now")
      .with_detail(error.message() + " " + error.detail());
}

bool holds_more_than(std::size_t most, const publish::ManifestList& list) {
  return list->size() > most || std::ranges::any_of(*list, [&](const model::ManifestFile& one) {
           return std::int64_t{one.added_files_count} + std::int64_t{one.existing_files_count} >
                  static_cast<std::int64_t>(most);
         });
}

void take(const materialize::Entries& entries, const std::string& bucket,
          std::set<storage::ObjectKey>& objects) {
  for (const auto& entry : *entries) {
    if (entry.status == model::EntryStatus::kDeleted) continue;
    // Elsewhere no key of ours reaches.
    if (auto key = storage::key_in(bucket, entry.data_file.file_path)) {
      objects.insert(std::move(*key));
    }
  }
}

// Of all lists, as far as they are few; nothing where they are not.
base::Task<base::Result<std::optional<std::vector<std::string>>>> manifests_of(
    base::RequestContext context, publish::ManifestStore* store, publish::LoadedTablePtr loaded,
    std::size_t most) {
  using Few = std::optional<std::vector<std::string>>;
  const auto& snapshots = loaded->metadata.snapshots.items();
  if (snapshots.empty()) co_return Few(std::in_place);
  // The newest list names nearly all there is: too many are known after one look.
  CO_ASSIGN_OR_RETURN(auto newest, co_await store->list(context, snapshots.back()->manifest_list));
  if (snapshots.size() > most || holds_more_than(most, newest)) co_return Few();
  std::set<std::string> manifests;
  bool too_many = false;
  auto read = [&](std::size_t i) { return store->list(context, snapshots[i]->manifest_list); };
  auto mark = [&](std::size_t, const publish::ManifestList& list) {
    too_many = too_many || holds_more_than(most, list);
    for (const auto& manifest : *list) manifests.insert(manifest.manifest_path);
    return base::Status{};
  };
  CO_RETURN_IF_ERROR(co_await base::gather_few(kReadsAtOnce, snapshots.size(), read, mark));
  if (too_many || manifests.size() > most) co_return Few();
  co_return Few(std::in_place, manifests.begin(), manifests.end());
}

}  // namespace

base::Task<base::Result<ShownObjects>> shown_objects(base::RequestContext context,
                                                     publish::ManifestStore* manifests,
                                                     std::string bucket,
                                                     publish::LoadedTablePtr loaded,
                                                     std::size_t most) {
  auto few = co_await manifests_of(context, manifests, std::move(loaded), most);
  if (!few) co_return unreadable(std::move(few).error());
  if (!*few) co_return ShownObjects();
  const std::vector<std::string>& places = **few;
  std::set<storage::ObjectKey> objects;
  auto read = [&](std::size_t i) { return manifests->entries(context, places[i]); };
  auto mark = [&](std::size_t, const materialize::Entries& entries) {
    take(entries, bucket, objects);
    return base::Status{};
  };
  auto done = co_await base::gather_few(kReadsAtOnce, places.size(), read, mark);
  if (!done) co_return unreadable(std::move(done).error());
  if (objects.size() > most) co_return ShownObjects();
  co_return ShownObjects(std::in_place, objects.begin(), objects.end());
}

}  // namespace lake::delegation

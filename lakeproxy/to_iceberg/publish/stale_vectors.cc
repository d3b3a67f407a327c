#include "lakeproxy/to_iceberg/publish/stale_vectors.h"

#include <algorithm>
#include <set>

#include "base/puffin/deletion_vector.h"
#include "lakeproxy/derive/plan/derived_object_names.h"

namespace lake::publish {
namespace {

using materialize::SnapshotChange;

// The vectors of one Puffin file that the snapshot goes on to name.
using Kept = std::vector<materialize::FileView>;

std::map<std::string, Kept> kept_vectors(const std::vector<materialize::ListedManifest>& list,
                                         const SnapshotChange& change) {
  const std::set<std::string> gone(change.superseded_deletes.begin(),
                                   change.superseded_deletes.end());
  std::map<std::string, Kept> kept;
  for (const auto& listed : list) {
    if (listed.manifest.content != model::ManifestContent::kDeletes || !listed.entries) continue;
    for (const model::ManifestEntry& entry : *listed.entries) {
      const model::DataFile& file = entry.data_file;
      if (entry.status == model::EntryStatus::kDeleted || !file.content_offset ||
          !file.referenced_data_file || gone.contains(*file.referenced_data_file)) {
        continue;
      }
      kept[file.file_path].push_back({file, listed.manifest.partition_spec_id});
    }
  }
  return kept;
}

bool is_kept(const Kept& kept, const materialize::PlacedVector& vector) {
  return std::ranges::any_of(kept, [&](const materialize::FileView& view) {
    return view.file.referenced_data_file == vector.data_file &&
           view.file.content_offset == vector.place.offset;
  });
}

base::Result<materialize::DeletionVector> take(const model::DataFile& file,
                                               std::string_view puffin) {
  const auto offset = static_cast<std::size_t>(*file.content_offset);
  const auto length = static_cast<std::size_t>(file.content_size_in_bytes.value_or(0));
  if (offset > puffin.size() || length > puffin.size() - offset) {
    return base::fail(base::ErrorKind::kCorrupt, "a deletion vector lies outside its file");
  }
  ASSIGN_OR_RETURN(auto positions,
                   base::puffin::read_deletion_vector(puffin.substr(offset, length)));
  return materialize::DeletionVector{*file.referenced_data_file, std::move(positions)};
}

}  // namespace

// Of a file that is kept for later snapshots only the places of its vectors are:
// few files hold a vector that must go, and those are left at once.
base::Task<base::Result<StaleVectors::Puffin>> StaleVectors::read_puffin(
    base::RequestContext context, std::string location) {
  auto found = known_.find(location);
  if (found != known_.end()) co_return Puffin{&found->second, {}};
  CO_ASSIGN_OR_RETURN(std::string bytes, co_await manifests_->bytes(context, location));
  CO_ASSIGN_OR_RETURN(auto vectors, materialize::read_placed_vectors(bytes));
  const Vectors& known = known_.emplace(location, std::move(vectors)).first->second;
  co_return Puffin{&known, std::move(bytes)};
}

base::Task<base::Status> StaleVectors::move_live(
    base::RequestContext context, const model::LakeTable* table,
    const std::vector<materialize::ListedManifest>* list, SnapshotChange* change) {
  if (change->uncovered.empty()) co_return base::Status{};
  const std::set<std::string> uncovered(change->uncovered.begin(), change->uncovered.end());
  std::vector<materialize::DeletionVector> moved;
  Kept views;
  for (auto& [location, kept] : kept_vectors(*list, *change)) {
    CO_ASSIGN_OR_RETURN(Puffin puffin, co_await read_puffin(context, location));
    const bool is_stale = std::ranges::any_of(*puffin.vectors, [&](const auto& vector) {
      return uncovered.contains(vector.data_file) && !is_kept(kept, vector);
    });
    if (!is_stale) continue;
    if (puffin.bytes.empty()) {
      CO_ASSIGN_OR_RETURN(puffin.bytes, co_await manifests_->bytes(context, location));
    }
    for (materialize::FileView& view : kept) {
      CO_ASSIGN_OR_RETURN(auto vector, take(view.file, puffin.bytes));
      moved.push_back(std::move(vector));
      views.push_back(std::move(view));
    }
  }
  if (moved.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(
      auto put,
      co_await exporter_->put_vectors(
          context, materialize::puffin_beginning(*table, change->snapshot_id), std::move(moved)));
  for (std::size_t i = 0; i < views.size(); ++i) {
    model::DataFile& file = views[i].file;
    file.file_path = put.location;
    file.file_size_in_bytes = put.file_size_bytes;
    file.content_offset = put.blobs[i].offset;
    file.content_size_in_bytes = put.blobs[i].length;
    change->superseded_deletes.push_back(*file.referenced_data_file);
    change->added_deletes.push_back(std::move(views[i]));
  }
  co_return base::Status{};
}

}  // namespace lake::publish

#include "lakeproxy/to_iceberg/snapshot/rebase.h"

#include <algorithm>

namespace lake::materialize {
namespace {

using model::SnapshotId;

std::set<model::DataFileId> files_with_deletes(const model::LakeChanges& changes) {
  std::set<model::DataFileId> ids;
  for (const auto& file : changes.delete_files) ids.insert(file.data_file_id);
  for (const auto& row : changes.inlined_deletes) ids.insert(row.data_file_id);
  return ids;
}

std::int64_t count_of(const DeleteGroup& group) {
  return std::ssize(group.positions) + (group.source ? group.source->delete_count : 0);
}

}  // namespace

Rebase::Rebase(const std::vector<ListedManifest>& list, const model::LakeChanges& changes)
    : published_(changes.published.value()), first_(changes.commits.front().snapshot) {
  for (const ListedManifest& listed : list) {
    for (const model::ManifestEntry& entry : *listed.entries) {
      if (entry.status == model::EntryStatus::kDeleted) continue;
      const model::DataFile& file = entry.data_file;
      if (file.content == model::FileContent::kData) {
        ++known_[file.file_path].count;
      } else if (file.referenced_data_file) {
        known_[*file.referenced_data_file].deletes += file.record_count;
      }
    }
  }
}

Rebase::Known* Rebase::find_staying(const std::string& path) {
  auto found = known_.find(path);
  return found == known_.end() || found->second.stays == 0 ? nullptr : &found->second;
}

// A row that is younger than the published snapshot shows an object again, maybe
// with other deletes: it goes and comes.
void Rebase::leave_out_known(model::LakeChanges& changes) {
  const auto deleted = files_with_deletes(changes);
  std::erase_if(changes.data_files, [&](const auto& item) {
    const auto& [id, file] = item;
    auto known = known_.find(file.path);
    if (known == known_.end() || known->second.stays == known->second.count) return false;
    if (file.begin > published_ || (file.end && *file.end <= first_)) return false;
    ++known->second.stays;
    return !file.end && !deleted.contains(id);
  });
}

void Rebase::leave_out_known(ExportPlan& plan) {
  std::erase_if(plan.inlined, [&](const InlinedGroup& group) {
    auto known = known_.find(group.location);
    if (known == known_.end() || group.begin > published_) return false;
    known->second.stays = known->second.count;
    return true;
  });
  // The deletes of a row of the lake only grow, so as many are the same.
  std::erase_if(plan.deletes, [&](const DeleteGroup& group) {
    Known* known = group.snapshot == first_ ? find_staying(group.data_file) : nullptr;
    if (known == nullptr || known->count > 1 || count_of(group) != known->deletes) return false;
    known->same_deletes = true;
    return true;
  });
}

void Rebase::apply(const model::LakeChanges& changes, SnapshotChange& first) const {
  std::erase_if(first.added_data, [&](const FileView& view) {
    auto known = known_.find(view.file.file_path);
    return known != known_.end() && known->second.stays > 0 && view.begin &&
           *view.begin <= published_;
  });
  std::set<std::string> added;
  for (const FileView& view : first.added_data) added.insert(view.file.file_path);
  std::set<std::string> deleted;
  for (const FileView& view : first.added_deletes) deleted.insert(*view.file.referenced_data_file);
  for (const auto& [path, known] : known_) {
    first.removed_data.insert(first.removed_data.end(), known.count - known.stays, path);
    if (known.stays < known.count && added.contains(path)) first.uncovered.push_back(path);
    if (known.deletes == 0 || known.same_deletes) continue;
    first.superseded_deletes.push_back(path);
    if (known.stays == 0 || deleted.contains(path)) continue;
    first.uncovered.push_back(path);
    first.uncovers_rows = true;
  }
  if (changes.first_row_change && *changes.first_row_change <= first.snapshot_id) {
    first.rewrites_only = false;
  }
}

}  // namespace lake::materialize

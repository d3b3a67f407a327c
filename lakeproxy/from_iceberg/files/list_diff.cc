#include "lakeproxy/from_iceberg/files/list_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "base/core/text.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using materialize::ListedManifest;
using model::EntryStatus;
using model::ManifestContent;
using model::ManifestEntry;

std::int64_t known(std::int32_t count) { return std::max(count, 0); }

base::Error invalid(const model::ManifestFile& manifest, std::string_view what) {
  return base::fail(ErrorKind::kInvalid, fmt::format("add-snapshot: {}: {} than its list says",
                                                     manifest.manifest_path, what));
}

std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// What the entries of one status add up to.
struct Count {
  std::int64_t files = 0;
  std::int64_t rows = 0;

  void add(const ManifestEntry& entry) {
    ++files;
    rows = saturated_sum(rows, entry.data_file.record_count);
  }
};

// The live files of the removed manifests, to be taken one by one.
class RemovedFiles {
 public:
  explicit RemovedFiles(const std::vector<ListedManifest>& removed_manifests) {
    for (const ListedManifest& listed : removed_manifests) {
      for (const ManifestEntry& entry : *listed.entries) {
        if (entry.status == EntryStatus::kDeleted) continue;
        files_.emplace(key_of(entry.data_file),
                       ducklake::AddedFile{entry.data_file, listed.manifest.partition_spec_id});
      }
    }
  }

  bool take(const model::DataFile& file) {
    auto found = files_.find(key_of(file));
    if (found == files_.end()) return false;
    files_.erase(found);
    return true;
  }
  [[nodiscard]] std::size_t count(const model::DataFile& file) const {
    return files_.count(key_of(file));
  }
  [[nodiscard]] const std::multimap<std::string, ducklake::AddedFile>& left() const {
    return files_;
  }

 private:
  std::multimap<std::string, ducklake::AddedFile> files_;
};

base::Error not_live(std::string_view said, const model::DataFile& file) {
  return base::fail(ErrorKind::kConflict,
                    fmt::format("add-snapshot: said to be {}, but not a live file that its list "
                                "leaves out: {}",
                                said, file.file_path));
}

// What PostgreSQL and every reader can hold.
bool is_text(const std::string& text) { return base::is_utf8(text) && !text.contains('\0'); }

// An entry that names no snapshot has that of its manifest; a list of format
// version 1 may leave it out.
std::optional<model::SnapshotId> snapshot_of(const ManifestEntry& entry,
                                             const model::ManifestFile& listed) {
  if (entry.snapshot_id || listed.added_snapshot_id.value <= 0) return entry.snapshot_id;
  return listed.added_snapshot_id;
}

base::Status check_added(const ManifestEntry& entry, const model::ManifestFile& listed,
                         model::SnapshotId id) {
  const std::string& path = entry.data_file.file_path;
  if (path.empty() || !is_text(path)) {
    return base::fail(ErrorKind::kInvalid, "add-snapshot: file_path: must be UTF-8 text");
  }
  const auto& referenced = entry.data_file.referenced_data_file;
  if (referenced && !is_text(*referenced)) {
    return base::fail(ErrorKind::kInvalid,
                      "add-snapshot: referenced_data_file: must be UTF-8 text: " + path);
  }
  const auto snapshot = snapshot_of(entry, listed);
  if (snapshot && *snapshot != id) {
    // A compaction since the client read the table: what it carries along is
    // not there any more. Its commit is right on the table as it is now.
    return base::fail(ErrorKind::kConflict,
                      fmt::format("add-snapshot: added by snapshot {}, not by this one, and not "
                                  "live now: {}",
                                  snapshot->value, path));
  }
  return {};
}

// Every "deleted" entry of this snapshot has a file of its own among those removed.
base::Status check_claims(model::SnapshotId id, const std::vector<ListedManifest>& new_manifests,
                          const RemovedFiles& removed_files) {
  std::map<std::string, std::size_t> claimed;
  for (const ListedManifest& listed : new_manifests) {
    for (const ManifestEntry& entry : *listed.entries) {
      if (entry.status != EntryStatus::kDeleted) continue;
      // What an earlier snapshot has deleted may be carried along.
      if (entry.snapshot_id && *entry.snapshot_id != id) continue;
      if (++claimed[key_of(entry.data_file)] > removed_files.count(entry.data_file)) {
        return not_live("deleted", entry.data_file);
      }
    }
  }
  return {};
}

base::Status take_live(model::SnapshotId id, const std::vector<ListedManifest>& new_manifests,
                       RemovedFiles& removed_files, ListDiff& diff) {
  for (const ListedManifest& listed : new_manifests) {
    const bool is_data = listed.manifest.content == ManifestContent::kData;
    for (const ManifestEntry& entry : *listed.entries) {
      if (entry.status == EntryStatus::kExisting && !removed_files.take(entry.data_file)) {
        return not_live("existing", entry.data_file);
      }
      if (entry.status != EntryStatus::kAdded) continue;
      RETURN_IF_ERROR(check_added(entry, listed.manifest, id));
      if (is_data) diff.added_rows = saturated_sum(diff.added_rows, entry.data_file.record_count);
      (is_data ? diff.added : diff.added_deletes)
          .push_back({entry.data_file, listed.manifest.partition_spec_id});
    }
  }
  return {};
}

// Whether each delete file that goes leaves another one, or no data file behind.
// DuckDB's Iceberg extension never counts the deletion vectors that it replaces.
// It also takes those of other data files away that lie in the same object, and
// their rows would come back: such a commit must not pass.
bool are_replaced(const ListDiff& diff) {
  return std::ranges::all_of(diff.removed_deletes, [&](const ducklake::AddedFile& removed) {
    const auto& of = removed.file.referenced_data_file;
    if (of && std::ranges::find(diff.removed, *of) != diff.removed.end()) return true;
    return of && std::ranges::any_of(diff.added_deletes, [&](const ducklake::AddedFile& added) {
             return added.file.referenced_data_file == of;
           });
  });
}

}  // namespace

std::string key_of(const model::DataFile& file) {
  if (!file.content_offset) return file.file_path;
  return fmt::format("{}#{}", file.file_path, *file.content_offset);
}

ManifestSplit split_lists(const std::vector<model::ManifestFile>& base,
                          const std::vector<model::ManifestFile>& given) {
  auto paths = [](const std::vector<model::ManifestFile>& list) {
    std::set<std::string> result;
    for (const auto& manifest : list) result.insert(manifest.manifest_path);
    return result;
  };
  auto only = [](const std::vector<model::ManifestFile>& list, const std::set<std::string>& other) {
    std::vector<model::ManifestFile> result;
    for (const auto& manifest : list) {
      if (!other.contains(manifest.manifest_path)) result.push_back(manifest);
    }
    return result;
  };
  return {only(given, paths(base)), only(base, paths(given))};
}

std::int64_t count_entries(const std::vector<model::ManifestFile>& manifests) {
  std::int64_t count = 0;
  for (const auto& manifest : manifests) {
    count += known(manifest.added_files_count) + known(manifest.existing_files_count) +
             known(manifest.deleted_files_count);
  }
  return count;
}

base::Status check_once(const std::vector<model::ManifestFile>& list) {
  std::set<std::string_view> seen;
  for (const auto& manifest : list) {
    if (seen.insert(manifest.manifest_path).second) continue;
    return base::fail(
        ErrorKind::kInvalid,
        "add-snapshot: the manifest list names a manifest twice: " + manifest.manifest_path);
  }
  return {};
}

std::size_t stored_bytes(const std::vector<model::ManifestFile>& manifests) {
  std::int64_t sum = 0;
  for (const auto& manifest : manifests) sum = saturated_sum(sum, manifest.manifest_length);
  return static_cast<std::size_t>(sum);
}

base::Status check_listed(const model::ManifestFile& listed, const model::ManifestHeader& header,
                          const std::vector<ManifestEntry>& entries) {
  Count added, existing, deleted;
  for (const ManifestEntry& entry : entries) {
    switch (entry.status) {
      case EntryStatus::kAdded: added.add(entry); break;
      case EntryStatus::kExisting: existing.add(entry); break;
      case EntryStatus::kDeleted: deleted.add(entry); break;
    }
  }
  auto differs = [](std::int64_t said, std::int64_t found) { return said >= 0 && said != found; };
  if (differs(listed.added_files_count, added.files) ||
      differs(listed.existing_files_count, existing.files) ||
      differs(listed.deleted_files_count, deleted.files)) {
    return invalid(listed, "holds other counts of added, existing or deleted files");
  }
  if (differs(listed.added_rows_count, added.rows) ||
      differs(listed.existing_rows_count, existing.rows) ||
      differs(listed.deleted_rows_count, deleted.rows)) {
    return invalid(listed, "holds other counts of added, existing or deleted rows");
  }
  if (header.spec.spec_id != listed.partition_spec_id) return invalid(listed, "has another spec");
  const bool is_data = header.content == model::FileContent::kData;
  if (is_data != (listed.content == ManifestContent::kData)) {
    return invalid(listed, "has other content");
  }
  return {};
}

base::Result<ListDiff> diff_lists(model::SnapshotId id,
                                  const std::vector<ListedManifest>& new_manifests,
                                  const std::vector<ListedManifest>& removed_manifests) {
  ListDiff diff;
  RemovedFiles removed_files(removed_manifests);
  RETURN_IF_ERROR(take_live(id, new_manifests, removed_files, diff));
  RETURN_IF_ERROR(check_claims(id, new_manifests, removed_files));
  for (const auto& [key, file] : removed_files.left()) {
    if (file.file.content == model::FileContent::kData) {
      diff.removed.push_back(file.file.file_path);
      diff.removed_rows = saturated_sum(diff.removed_rows, file.file.record_count);
    } else {
      diff.removed_deletes.push_back(file);
    }
  }
  return diff;
}

base::Status check_summary(const model::Snapshot& given, const ListDiff& diff) {
  const std::pair<const char*, std::int64_t> counts[] = {
      {"added-data-files", std::ssize(diff.added)},
      {"deleted-data-files", std::ssize(diff.removed)},
      {"added-delete-files", std::ssize(diff.added_deletes)},
      {"removed-delete-files", std::ssize(diff.removed_deletes)},
      {"added-records", diff.added_rows},
      {"deleted-records", diff.removed_rows},
  };
  for (const auto& [key, found] : counts) {
    auto said = given.summary.find(key);
    if (said == given.summary.end()) continue;
    auto count = base::parse_int64(said->second);
    const bool of_deletes = std::string_view(key) == "removed-delete-files";
    if (of_deletes && count == 0 && are_replaced(diff)) continue;
    if (!count || *count != found) {
      return base::fail(ErrorKind::kInvalid,
                        fmt::format("add-snapshot: summary.{} is {}, but its manifests say {}", key,
                                    said->second, found));
    }
  }
  return {};
}

}  // namespace lake::operation

#pragma once

// Snapshots built one after the other, as a publisher does, with the objects in
// memory; and what a reader finds in them. For tests only.

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "lakeproxy/iceberg/manifest/manifest_reader.h"
#include "lakeproxy/to_iceberg/snapshot/sample_lake.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

namespace lake::materialize {

/// An entry with what it inherits, and where it stands.
struct SeenEntry {
  model::ManifestEntry entry;
  model::ManifestFile manifest;
};

class SnapshotChain {
 public:
  model::LakeTable table = sample_lake();
  std::map<std::string, std::string> objects;
  std::vector<ListedManifest> list;
  std::deque<model::Snapshot> snapshots;

  base::Result<BuiltSnapshot> try_apply(const SnapshotChange& change) {
    for (std::size_t i : manifests_to_read(context(), list, change)) load(list[i]);
    return build_snapshot(context(), list, change);
  }

  /// Of the next snapshot.
  BuildContext context() const { return {&table, snapshots.empty() ? nullptr : &snapshots.back()}; }

  BuiltSnapshot apply(const SnapshotChange& change) {
    auto built = try_apply(change);
    if (!built) {
      ADD_FAILURE() << change.snapshot_id.value << ": " << built.error().message();
      return {};
    }
    for (const NewObject& object : built->objects) {
      auto [held, is_new] = objects.emplace(object.location, object.bytes);
      EXPECT_TRUE(is_new || held->second == object.bytes) << object.location;
    }
    list = built->list;
    snapshots.push_back(built->snapshot);
    return std::move(*built);
  }

  /// The entries of every manifest of the list.
  void load_all() {
    for (ListedManifest& listed : list) {
      if (!listed.entries) load(listed);
    }
  }

  /// As after a restart: nothing but the stored list is known.
  void forget() {
    auto files = read_manifest_list(objects.at(snapshots.back().manifest_list));
    ASSERT_TRUE(files) << files.error().message();
    list.clear();
    for (auto& file : *files) list.push_back({std::move(file), nullptr});
  }

  [[nodiscard]] std::vector<SeenEntry> read(const model::Snapshot& snapshot) const {
    std::vector<SeenEntry> seen;
    auto files = read_manifest_list(objects.at(snapshot.manifest_list));
    EXPECT_TRUE(files) << files.error().message();
    for (const model::ManifestFile& file : *files) read_manifest_of(file, seen);
    return seen;
  }

 private:
  void load(ListedManifest& listed) const {
    auto manifest = read_manifest(objects.at(listed.manifest.manifest_path));
    ASSERT_TRUE(manifest) << manifest.error().message();
    listed.entries =
        std::make_shared<const std::vector<model::ManifestEntry>>(std::move(manifest->entries));
  }

  void read_manifest_of(const model::ManifestFile& file, std::vector<SeenEntry>& seen) const {
    const std::string& bytes = objects.at(file.manifest_path);
    EXPECT_EQ(static_cast<std::size_t>(file.manifest_length), bytes.size());
    auto manifest = read_manifest(bytes);
    ASSERT_TRUE(manifest) << manifest.error().message();
    std::map<model::EntryStatus, std::int32_t> counts;
    for (model::ManifestEntry& entry : manifest->entries) {
      ++counts[entry.status];
      if (!entry.snapshot_id) entry.snapshot_id = file.added_snapshot_id;
      if (!entry.sequence_number) entry.sequence_number = file.sequence_number;
      if (!entry.file_sequence_number) entry.file_sequence_number = file.sequence_number;
      EXPECT_TRUE(entry.status == model::EntryStatus::kDeleted ||
                  file.min_sequence_number <= *entry.sequence_number);
      seen.push_back({std::move(entry), file});
    }
    EXPECT_EQ(counts[model::EntryStatus::kAdded], file.added_files_count);
    EXPECT_EQ(counts[model::EntryStatus::kExisting], file.existing_files_count);
    EXPECT_EQ(counts[model::EntryStatus::kDeleted], file.deleted_files_count);
  }
};

/// A data file of ten rows under spec 0.
inline FileView plain_view(std::string path, std::int32_t spec_id = 0) {
  FileView view;
  view.file.file_path = std::move(path);
  view.file.record_count = 10;
  view.file.file_size_in_bytes = 1000;
  view.spec_id = spec_id;
  return view;
}

/// A delete file of one row of `data`.
inline FileView delete_view(std::string path, std::string data) {
  FileView view = plain_view(std::move(path));
  view.file.content = model::FileContent::kPositionDeletes;
  view.file.record_count = 1;
  view.file.referenced_data_file = std::move(data);
  return view;
}

inline SnapshotChange change_of(std::int64_t snapshot) {
  SnapshotChange change;
  change.snapshot_id = model::SnapshotId(snapshot);
  change.timestamp_ms = snapshot * 1000;
  return change;
}

}  // namespace lake::materialize

#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "lakeproxy/iceberg/manifest/format_version.h"
#include "lakeproxy/iceberg/manifest/header_schema.h"
#include "lakeproxy/to_iceberg/snapshot/manifest_tiers.h"
#include "lakeproxy/to_iceberg/snapshot/row_lineage.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_objects.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_summary.h"

namespace lake::materialize {
namespace {

using model::EntryStatus;
using model::ManifestContent;
using model::ManifestEntry;

// Keys of the entries that a snapshot removes, each with how many of them: a
// path may stand in a table twice.
using Wanted = std::map<std::string, std::size_t>;

Wanted count_paths(const std::vector<std::string>& paths) {
  Wanted wanted;
  for (const std::string& path : paths) ++wanted[path];
  return wanted;
}

// All delete files of each data file.
Wanted all_of_paths(const std::vector<std::string>& paths) {
  Wanted wanted;
  for (const std::string& path : paths) wanted[path] = std::numeric_limits<std::size_t>::max();
  return wanted;
}

// One build in progress.
class Build {
 public:
  Build(const BuildContext& context, const SnapshotChange& change)
      : context_(context),
        change_(change),
        format_(format_version(context.table->metadata.format_version)),
        objects_(*context.table, built_.snapshot, context.headers) {}

  base::Result<BuiltSnapshot> run(std::vector<ListedManifest> list);

 private:
  base::Result<std::vector<ListedManifest>> keep(std::vector<ListedManifest> list);
  base::Result<std::vector<ListedManifest>> merge(std::vector<ListedManifest> list);
  base::Status remove_from(ListedManifest listed, Wanted& wanted,
                           std::vector<ListedManifest>& kept);
  base::Status move_from(const ListedManifest& listed, Wanted& wanted,
                         std::vector<ListedManifest>& kept);
  [[nodiscard]] ManifestEntry new_entry(const FileView& view) const;
  base::Status add_new(const std::vector<FileView>& views, ManifestContent content);

  const BuildContext& context_;
  const SnapshotChange& change_;
  const FormatVersion& format_;
  BuiltSnapshot built_;
  SnapshotObjects objects_;
  RemovedFiles removed_;
};

const std::string& key_of(const ManifestEntry& entry) {
  const model::DataFile& file = entry.data_file;
  return file.referenced_data_file ? *file.referenced_data_file : file.file_path;
}

// An entry as a later manifest repeats it: what it inherited is spelled out.
ManifestEntry carried(const ManifestEntry& entry, const model::ManifestFile& from) {
  ManifestEntry copy = entry;
  copy.status = EntryStatus::kExisting;
  copy.snapshot_id = entry.snapshot_id.value_or(from.added_snapshot_id);
  copy.sequence_number = entry.sequence_number.value_or(from.sequence_number);
  copy.file_sequence_number = entry.file_sequence_number.value_or(from.sequence_number);
  return copy;
}

// Whether files under the spec have no value of it any more: a column of it became of a type that
// its transform does not take.
bool is_outgrown(const model::LakeTable& table, std::int32_t schema_id, std::int32_t spec_id) {
  const model::PartitionSpec* spec = table.metadata.find_spec(spec_id);
  const model::Schema* schema = table.metadata.find_schema(schema_id);
  return spec != nullptr && schema != nullptr && !fits(*spec, *schema);
}

// Whether the manifests of the spec that are there go with this snapshot: a column of it is of
// another type from here on, and what stands in them is no value of that.
bool is_left(const BuildContext& context, const SnapshotChange& change, std::int32_t spec_id) {
  if (is_outgrown(*context.table, change.schema_id, spec_id)) return true;
  const model::TableMetadata& metadata = context.table->metadata;
  const auto before = context.parent != nullptr ? context.parent->schema_id : std::nullopt;
  if (!before || *before == change.schema_id) return false;
  const model::PartitionSpec* spec = metadata.find_spec(spec_id);
  const model::Schema* from = metadata.find_schema(*before);
  const model::Schema* to = metadata.find_schema(change.schema_id);
  return spec != nullptr && from != nullptr && to != nullptr && !keeps_values(*spec, *from, *to);
}

bool take(Wanted& wanted, const ManifestEntry& entry) {
  auto found = wanted.find(key_of(entry));
  if (found == wanted.end() || found->second == 0) return false;
  --found->second;
  return true;
}

// No reader can be shown the spec, and so no manifest of it either, not even one that tells what is
// gone: what stays has no partition.
base::Status Build::move_from(const ListedManifest& listed, Wanted& wanted,
                              std::vector<ListedManifest>& kept) {
  const bool is_data = listed.manifest.content == ManifestContent::kData;
  std::vector<ManifestEntry> entries;
  for (const ManifestEntry& entry : *listed.entries) {
    if (entry.status == EntryStatus::kDeleted) continue;
    if (take(wanted, entry)) {
      (is_data ? removed_.data : removed_.deletes).push_back(entry.data_file);
      continue;
    }
    entries.push_back(carried(entry, listed.manifest));
    entries.back().data_file.partition.clear();
  }
  if (entries.empty()) return {};
  ASSIGN_OR_RETURN(const std::int32_t spec, unpartitioned_spec(*context_.table));
  ASSIGN_OR_RETURN(ListedManifest moved,
                   objects_.write(spec, listed.manifest.content, std::move(entries)));
  kept.push_back(std::move(moved));
  return {};
}

base::Status Build::remove_from(ListedManifest listed, Wanted& wanted,
                                std::vector<ListedManifest>& kept) {
  auto is_wanted = [&](const ManifestEntry& entry) {
    auto found = wanted.find(key_of(entry));
    return entry.status != EntryStatus::kDeleted && found != wanted.end() && found->second > 0;
  };
  if (listed.entries == nullptr || std::ranges::none_of(*listed.entries, is_wanted)) {
    kept.push_back(std::move(listed));
    return {};
  }
  bool is_data = listed.manifest.content == ManifestContent::kData;
  std::vector<ManifestEntry> entries;
  for (const ManifestEntry& entry : *listed.entries) {
    if (entry.status == EntryStatus::kDeleted) continue;
    ManifestEntry copy = carried(entry, listed.manifest);
    if (take(wanted, entry)) {
      copy.status = EntryStatus::kDeleted;
      copy.snapshot_id = change_.snapshot_id;
      (is_data ? removed_.data : removed_.deletes).push_back(copy.data_file);
    }
    entries.push_back(std::move(copy));
  }
  ASSIGN_OR_RETURN(ListedManifest rewritten,
                   objects_.write(listed.manifest.partition_spec_id, listed.manifest.content,
                                  std::move(entries)));
  kept.push_back(std::move(rewritten));
  return {};
}

base::Result<std::vector<ListedManifest>> Build::keep(std::vector<ListedManifest> list) {
  Wanted data = count_paths(change_.removed_data);
  Wanted deletes = all_of_paths(change_.superseded_deletes);
  std::vector<ListedManifest> kept;
  for (ListedManifest& listed : list) {
    // A manifest of deleted entries alone was of use to its own snapshot only.
    if (live_files(listed.manifest) == 0) continue;
    Wanted& wanted = listed.manifest.content == ManifestContent::kData ? data : deletes;
    const bool moves =
        listed.entries != nullptr && is_left(context_, change_, listed.manifest.partition_spec_id);
    RETURN_IF_ERROR(moves ? move_from(listed, wanted, kept)
                          : remove_from(std::move(listed), wanted, kept));
  }
  if (removed_.data.size() != change_.removed_data.size()) {
    return base::fail(
        base::ErrorKind::kCorrupt,
        fmt::format("snapshot {} removes {} data files, {} of them are listed",
                    change_.snapshot_id.value, change_.removed_data.size(), removed_.data.size()));
  }
  return kept;
}

base::Result<std::vector<ListedManifest>> Build::merge(std::vector<ListedManifest> list) {
  std::set<std::size_t> merged;
  std::vector<ListedManifest> results;
  for (const auto& group : due_merges(list, change_.snapshot_id)) {
    bool readable = std::ranges::all_of(group, [&](auto i) { return list[i].entries != nullptr; });
    if (!readable) continue;
    std::vector<ManifestEntry> entries;
    for (std::size_t i : group) {
      for (const ManifestEntry& entry : *list[i].entries) {
        if (entry.status != EntryStatus::kDeleted) {
          entries.push_back(carried(entry, list[i].manifest));
        }
      }
      merged.insert(i);
    }
    const model::ManifestFile& first = list[group.front()].manifest;
    ASSIGN_OR_RETURN(ListedManifest result,
                     objects_.write(first.partition_spec_id, first.content, std::move(entries)));
    results.push_back(std::move(result));
  }
  std::vector<ListedManifest> kept;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!merged.contains(i)) kept.push_back(std::move(list[i]));
  }
  for (ListedManifest& result : results) kept.push_back(std::move(result));
  return kept;
}

ManifestEntry Build::new_entry(const FileView& view) const {
  const model::Snapshot& snapshot = built_.snapshot;
  ManifestEntry entry;
  entry.snapshot_id = change_.snapshot_id;
  entry.sequence_number = snapshot.sequence_number;
  entry.data_file = view.file;
  if (format_.lineage == RowLineage::kKept && view.file.content == model::FileContent::kData) {
    // Rows say by the file's number when they were written, and the file may
    // be older than the snapshot that shows it.
    if (view.begin) entry.sequence_number = view.begin->value;
    if (!view.file.first_row_id) entry.data_file.first_row_id = snapshot.first_row_id;
  }
  entry.file_sequence_number = entry.sequence_number;
  return entry;
}

base::Status Build::add_new(const std::vector<FileView>& views, ManifestContent content) {
  std::map<std::int32_t, std::vector<ManifestEntry>> by_spec;
  for (const FileView& view : views) {
    if (!is_outgrown(*context_.table, change_.schema_id, view.spec_id)) {
      by_spec[view.spec_id].push_back(new_entry(view));
      continue;
    }
    ASSIGN_OR_RETURN(const std::int32_t spec, unpartitioned_spec(*context_.table));
    by_spec[spec].push_back(new_entry(view));
    by_spec[spec].back().data_file.partition.clear();
  }
  for (auto& [spec_id, entries] : by_spec) {
    ASSIGN_OR_RETURN(ListedManifest added, objects_.write(spec_id, content, std::move(entries)));
    built_.list.push_back(std::move(added));
  }
  return {};
}

base::Result<BuiltSnapshot> Build::run(std::vector<ListedManifest> list) {
  model::Snapshot& snapshot = built_.snapshot;
  snapshot.snapshot_id = change_.snapshot_id;
  if (context_.parent != nullptr) snapshot.parent_snapshot_id = context_.parent->snapshot_id;
  snapshot.sequence_number = format_.sequence_number(context_.parent, change_.snapshot_id);
  snapshot.timestamp_ms = change_.timestamp_ms;
  snapshot.schema_id = change_.schema_id;
  if (format_.lineage == RowLineage::kKept) {
    set_row_ids(context_.parent, change_.added_data, snapshot);
  }
  ASSIGN_OR_RETURN(auto kept, keep(std::move(list)));
  ASSIGN_OR_RETURN(built_.list, merge(std::move(kept)));
  RETURN_IF_ERROR(add_new(change_.added_data, ManifestContent::kData));
  RETURN_IF_ERROR(add_new(change_.added_deletes, ManifestContent::kDeletes));
  snapshot.operation = operation_of(change_, removed_);
  snapshot.summary = summarize(change_, removed_, context_.parent);
  ASSIGN_OR_RETURN(snapshot.manifest_list, objects_.write_list(built_.list));
  built_.objects = std::move(objects_).take();
  return std::move(built_);
}

}  // namespace

std::vector<std::size_t> manifests_to_read(const BuildContext& context,
                                           const std::vector<ListedManifest>& list,
                                           const SnapshotChange& change) {
  std::set<std::size_t> wanted;
  for (std::size_t i = 0; i < list.size(); ++i) {
    bool is_data = list[i].manifest.content == ManifestContent::kData;
    const bool takes_deletes = !change.superseded_deletes.empty() || !change.uncovered.empty();
    if (is_data ? !change.removed_data.empty() : takes_deletes) wanted.insert(i);
    if (is_left(context, change, list[i].manifest.partition_spec_id)) wanted.insert(i);
  }
  for (const auto& group : due_merges(list, change.snapshot_id))
    wanted.insert(group.begin(), group.end());
  std::erase_if(wanted, [&](std::size_t i) { return list[i].entries != nullptr; });
  return {wanted.begin(), wanted.end()};
}

base::Result<BuiltSnapshot> build_snapshot(const BuildContext& context,
                                           std::vector<ListedManifest> list,
                                           const SnapshotChange& change) {
  return Build(context, change).run(std::move(list));
}

}  // namespace lake::materialize

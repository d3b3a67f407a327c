#include "lakeproxy/materialize/change_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json/json.h"

namespace lake::materialize {
namespace {

using model::SnapshotId;

// Field ids of a position delete file's columns.
// Source: Iceberg table specification, "Reserved Field IDs".
constexpr model::FieldId kDeleteFilePath = 2147483546;

// Keys that count what a snapshot did: ours are computed from the lake.
bool is_count(std::string_view key) {
  return key.starts_with("added-") || key.starts_with("deleted-") || key.starts_with("removed-") ||
         key.starts_with("total-") || key == "operation";
}

std::map<std::string, std::string> client_summary(const model::LakeCommit& commit) {
  std::map<std::string, std::string> summary;
  if (!commit.extra_info) return summary;
  auto json = base::json::parse(*commit.extra_info);
  // Free text of a DuckDB user is no summary of ours.
  if (!json || !json->is_object()) return summary;
  for (const auto& member : json->as_object()) {
    if (member.value().is_string() && !is_count(member.key())) {
      summary[std::string(member.key())] = std::string(member.value().as_string());
    }
  }
  return summary;
}

// Merge, flush and rewrite never share a commit with other changes.
bool rewrites_only(const std::string& changes_made) {
  static constexpr std::string_view kRewrites[] = {
      "merge_adjacent:", "rewrite_delete:", "inline_flush:", "flushed_inlined:",
      "compacted_table:"};
  return std::ranges::any_of(
      kRewrites, [&](auto entry) { return changes_made.find(entry) != std::string::npos; });
}

std::int32_t schema_id_at(const model::LakeTable& table, SnapshotId snapshot) {
  auto after = table.schema_at.upper_bound(snapshot);
  return after == table.schema_at.begin() ? table.metadata.current_schema_id
                                          : std::prev(after)->second;
}

class Split {
 public:
  Split(const model::LakeTable& table, const model::LakeChanges& changes, const ExportPlan& plan,
        const Exported& exported)
      : table_(table), changes_(changes), plan_(plan), exported_(exported) {}

  base::Result<std::vector<SnapshotChange>> run();

 private:
  base::Status add_data_files();
  base::Status add_inlined();
  void remove_inlined();
  base::Status add_deletes();
  base::Result<FileView> view_of(const std::string& data_file) const;
  void show(SnapshotId begin, std::optional<SnapshotId> end, FileView view);
  SnapshotChange& at(SnapshotId snapshot) { return by_snapshot_[snapshot]; }

  const model::LakeTable& table_;
  const model::LakeChanges& changes_;
  const ExportPlan& plan_;
  const Exported& exported_;
  std::map<SnapshotId, SnapshotChange> by_snapshot_;
};

void Split::show(SnapshotId begin, std::optional<SnapshotId> end, FileView view) {
  auto gone = end ? shown_at(changes_, *end) : std::nullopt;
  if (!shown_before(changes_, begin)) {
    auto added = shown_at(changes_, begin);
    // Came and went between two snapshots that are shown.
    if (!added || added == gone) return;
    if (gone) at(*gone).removed_data.push_back(view.file.file_path);
    at(*added).added_data.push_back(std::move(view));
  } else if (gone && !shown_before(changes_, *end)) {
    at(*gone).removed_data.push_back(view.file.file_path);
  }
}

base::Status Split::add_data_files() {
  for (const auto& [id, file] : changes_.data_files) {
    ASSIGN_OR_RETURN(FileView view, view_data_file(table_, file));
    show(file.begin, file.end, std::move(view));
  }
  return {};
}

model::LakeDataFile as_data_file(const InlinedGroup& group, const ExportedFile& made) {
  model::LakeDataFile file;
  file.begin = group.begin;
  file.path = group.location;
  file.record_count = made.record_count;
  file.file_size_bytes = made.file_size_bytes;
  file.stats = made.stats;
  return file;
}

base::Status Split::add_inlined() {
  for (const InlinedGroup& group : plan_.inlined) {
    auto made = exported_.find(group.location);
    if (made == exported_.end()) {
      return base::fail(base::ErrorKind::kInternal, "not exported: " + group.location);
    }
    ASSIGN_OR_RETURN(FileView view, view_data_file(table_, as_data_file(group, made->second)));
    show(group.begin, std::nullopt, std::move(view));
  }
  return {};
}

// A group goes when its last row does.
void Split::remove_inlined() {
  for (const auto& inlined : changes_.inlined) {
    std::map<SnapshotId, std::vector<const model::LakeInlinedRow*>> groups;
    for (const auto& row : inlined.rows) {
      if (row.end != row.begin) groups[row.begin].push_back(&row);
    }
    for (const auto& [begin, rows] : groups) {
      if (!std::ranges::all_of(rows, [](const auto* row) { return row->end.has_value(); }))
        continue;
      SnapshotId last = (*std::ranges::max_element(rows, {}, [](const auto* row) {
                          return *row->end;
                        }))->end.value();
      auto gone = shown_at(changes_, last);
      bool begins_here = !shown_before(changes_, begin);
      if (shown_before(changes_, last) || !gone) continue;
      if (begins_here && shown_at(changes_, begin) == gone) {
        std::string location = inlined_location(table_, inlined.schema_version, begin);
        std::erase_if(at(*gone).added_data,
                      [&](const FileView& view) { return view.file.file_path == location; });
        continue;
      }
      std::string location = inlined_location(table_, inlined.schema_version, begin);
      at(*gone).removed_data.push_back(location);
      at(*gone).superseded_deletes.push_back(location);
    }
  }
}

base::Result<FileView> Split::view_of(const std::string& data_file) const {
  for (const auto& [id, file] : changes_.data_files) {
    if (file.path == data_file) return view_data_file(table_, file);
  }
  // An inlined group: it always stands under the unpartitioned spec.
  FileView view;
  view.spec_id = table_.unpartitioned_spec_id;
  return view;
}

base::Status Split::add_deletes() {
  for (const DeleteGroup& group : plan_.deletes) {
    auto made = exported_.find(group.location);
    if (made == exported_.end()) {
      return base::fail(base::ErrorKind::kInternal, "not exported: " + group.location);
    }
    ASSIGN_OR_RETURN(FileView data, view_of(group.data_file));
    FileView view;
    view.spec_id = data.spec_id;
    view.file.content = model::FileContent::kPositionDeletes;
    view.file.file_path = group.location;
    view.file.partition = data.file.partition;
    view.file.record_count = made->second.record_count;
    view.file.file_size_in_bytes = made->second.file_size_bytes;
    view.file.referenced_data_file = group.data_file;
    // Readers that do not know the field above find the file by these bounds.
    model::ColumnMetrics path;
    path.lower_bound = path.upper_bound = group.data_file;
    view.file.metrics[kDeleteFilePath] = path;
    at(group.snapshot).superseded_deletes.push_back(group.data_file);
    at(group.snapshot).added_deletes.push_back(std::move(view));
  }
  return {};
}

base::Result<std::vector<SnapshotChange>> Split::run() {
  RETURN_IF_ERROR(add_data_files());
  RETURN_IF_ERROR(add_inlined());
  remove_inlined();
  RETURN_IF_ERROR(add_deletes());
  std::vector<SnapshotChange> result;
  for (const model::LakeCommit& commit : changes_.commits) {
    SnapshotChange& change = at(commit.snapshot);
    change.snapshot_id = commit.snapshot;
    change.timestamp_ms = commit.committed_ms;
    change.schema_id = schema_id_at(table_, commit.snapshot);
    change.rewrites_only = rewrites_only(commit.changes_made);
    change.extra_summary = client_summary(commit);
    result.push_back(std::move(change));
  }
  return result;
}

}  // namespace

base::Result<std::vector<SnapshotChange>> split_changes(const model::LakeTable& table,
                                                        const model::LakeChanges& changes,
                                                        const ExportPlan& plan,
                                                        const Exported& exported) {
  return Split(table, changes, plan, exported).run();
}

}  // namespace lake::materialize

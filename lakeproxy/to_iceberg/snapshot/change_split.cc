#include "lakeproxy/to_iceberg/snapshot/change_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json/json.h"
#include "lakeproxy/to_iceberg/snapshot/shown_snapshots.h"

namespace lake::materialize {
namespace {

using model::SnapshotId;

// Field ids of a position delete file's columns.
// Source: Iceberg table specification, "Reserved Field IDs".
constexpr model::FieldId kDeleteFilePath = 2147483546;

// What a rollback says in its summary (from_iceberg/rows/content_change).
constexpr std::string_view kRestoredKey = "lakeproxy-restored-snapshot-id";

// Keys that count what a snapshot did: ours are computed from the lake.
bool is_count(std::string_view key) {
  return key.starts_with("added-") || key.starts_with("deleted-") || key.starts_with("removed-") ||
         key.starts_with("total-");
}

// Each load of the table repeats them for each snapshot.
constexpr std::size_t kMaxMessageBytes = 4096;

void take_message(const char* key, const std::optional<std::string>& text, SnapshotChange& change) {
  if (text && text->size() <= kMaxMessageBytes) change.extra_summary[key] = *text;
}

void take_client_summary(const model::LakeCommit& commit, SnapshotChange& change) {
  take_message("author", commit.author, change);
  take_message("commit-message", commit.commit_message, change);
  if (!commit.extra_info) return;
  auto json = base::json::parse(*commit.extra_info);
  // Free text of a DuckDB user is no summary of ours.
  if (!json || !json->is_object()) return;
  for (const auto& member : json->as_object()) {
    if (!member.value().is_string()) continue;
    std::string value(member.value().as_string());
    if (member.key() == "operation") {
      change.client_operation = model::parse_operation(value);
    } else if (!is_count(member.key())) {
      change.extra_summary[std::string(member.key())] = std::move(value);
    }
  }
}

// Without what stands in quotes: a name may look like an entry. A quote inside
// a name is doubled, so the parts outside stay the same.
std::string without_names(std::string_view changes_made) {
  std::string text;
  bool quoted = false;
  for (char c : changes_made) {
    if (c == '"') quoted = !quoted;
    if (!quoted) text.push_back(c);
  }
  return text;
}

bool is_rewrite(std::string_view entry) {
  static constexpr std::string_view kRewrites[] = {
      "merge_adjacent:",  "rewrite_delete:",  "inline_flush:",
      "flushed_inlined:", "compacted_table:", "altered_table:"};
  return std::ranges::any_of(kRewrites, [&](auto kind) { return entry.starts_with(kind); });
}

std::int32_t schema_id_at(const model::LakeTable& table, SnapshotId snapshot) {
  auto after = table.schema_at.upper_bound(snapshot);
  return after == table.schema_at.begin() ? table.metadata.current_schema_id
                                          : std::prev(after)->second;
}

// Files that come back, as other rows of the lake, may have lost deletes. After a
// rollback any may be one; elsewhere it goes in the same snapshot.
void note_returned(SnapshotChange& change) {
  const bool restored = change.extra_summary.contains(std::string(kRestoredKey));
  const std::set<std::string> removed(change.removed_data.begin(), change.removed_data.end());
  for (const FileView& view : change.added_data) {
    const std::string& path = view.file.file_path;
    if (restored || removed.contains(path)) change.uncovered.push_back(path);
  }
}

class Split {
 public:
  Split(const model::LakeTable& table, const model::LakeChanges& changes, const ExportPlan& plan,
        const Exported& exported)
      : table_(table),
        changes_(changes),
        plan_(plan),
        exported_(exported),
        first_deletes_(first_deletes(changes)) {}

  base::Result<std::vector<SnapshotChange>> run();

 private:
  base::Status add_data_files();
  base::Status add_inlined();
  void remove_inlined();
  base::Status add_deletes();
  base::Result<FileView> view_of(const DeleteGroup& group) const;
  base::Result<ExportedFile> made(const std::string& location) const;
  void show(const model::LakeDataFile& file, FileView view);
  void remove(const model::LakeDataFile& file, SnapshotId gone);
  SnapshotChange& at(SnapshotId snapshot) { return by_snapshot_[snapshot]; }

  const model::LakeTable& table_;
  const model::LakeChanges& changes_;
  const ExportPlan& plan_;
  const Exported& exported_;
  std::map<model::DataFileId, SnapshotId> first_deletes_;
  std::map<SnapshotId, SnapshotChange> by_snapshot_;
};

void Split::remove(const model::LakeDataFile& file, SnapshotId gone) {
  at(gone).removed_data.push_back(file.path);
  auto first = first_deletes_.find(file.id);
  if (first != first_deletes_.end() && shown_earlier(changes_, first->second, gone)) {
    at(gone).superseded_deletes.push_back(file.path);
  }
}

void Split::show(const model::LakeDataFile& file, FileView view) {
  std::optional<SnapshotId> gone;
  if (file.end && !shown_before(changes_, *file.end)) gone = shown_at(changes_, *file.end);
  if (shown_before(changes_, file.begin)) {
    if (gone) remove(file, *gone);
    return;
  }
  auto added = shown_at(changes_, file.begin);
  // Came and went between two snapshots that are shown.
  if (!added || added == gone) return;
  if (gone) remove(file, *gone);
  at(*added).added_data.push_back(std::move(view));
}

base::Status Split::add_data_files() {
  for (const auto& [id, file] : changes_.data_files) {
    ASSIGN_OR_RETURN(FileView view, view_data_file(table_, file));
    show(file, std::move(view));
  }
  return {};
}

model::LakeDataFile as_data_file(const InlinedGroup& group, const ExportedFile& made) {
  model::LakeDataFile file;
  file.begin = group.begin;
  file.path = group.location;
  file.record_count = made.record_count;
  file.file_size_bytes = made.file_size_bytes;
  file.row_id_start = group.rows.front().row_id;
  file.stats = made.stats;
  return file;
}

// Rows that were updated keep their ids, and new ones of the same snapshot follow
// after a gap. An id that the table has not given yet is one of a transaction.
std::int64_t row_id_end(const InlinedGroup& group, std::int64_t next_row_id) {
  std::int64_t end = 0;
  for (const auto& row : group.rows) {
    if (row.row_id < next_row_id) end = std::max(end, row.row_id + 1);
  }
  return end;
}

base::Result<ExportedFile> Split::made(const std::string& location) const {
  auto found = exported_.find(location);
  if (found == exported_.end()) {
    return base::fail(base::ErrorKind::kInternal, "not exported: " + location);
  }
  return found->second;
}

base::Status Split::add_inlined() {
  for (const InlinedGroup& group : plan_.inlined) {
    ASSIGN_OR_RETURN(ExportedFile exported, made(group.location));
    ASSIGN_OR_RETURN(FileView view, view_data_file(table_, as_data_file(group, exported)));
    view.row_id_end = row_id_end(group, table_.metadata.next_row_id);
    auto shown = shown_at(changes_, group.begin);
    if (shown) at(*shown).added_data.push_back(std::move(view));
  }
  return {};
}

void Split::remove_inlined() {
  for (const RemovedGroup& group : plan_.removed) {
    at(group.snapshot).removed_data.push_back(group.location);
    if (group.had_deletes) at(group.snapshot).superseded_deletes.push_back(group.location);
  }
}

base::Result<FileView> Split::view_of(const DeleteGroup& group) const {
  if (group.data_file_id) {
    return view_data_file(table_, changes_.data_files.at(*group.data_file_id));
  }
  // An inlined group: it always stands under the unpartitioned spec.
  FileView view;
  ASSIGN_OR_RETURN(view.spec_id, unpartitioned_spec(table_));
  return view;
}

void place_deletes(const DeleteGroup& group, const ExportedFile& exported, model::DataFile& file) {
  if (exported.vector) {
    file.file_path = exported.vector->location;
    file.file_format = model::FileFormat::kPuffin;
    file.content_offset = exported.vector->blob.offset;
    file.content_size_in_bytes = exported.vector->blob.length;
    return;
  }
  file.file_path = group.location;
  // Readers that do not know referenced_data_file find the file by these bounds.
  model::ColumnMetrics path;
  path.lower_bound = path.upper_bound = group.data_file;
  file.metrics[kDeleteFilePath] = path;
}

base::Status Split::add_deletes() {
  for (const DeleteGroup& group : plan_.deletes) {
    ASSIGN_OR_RETURN(ExportedFile exported, made(group.location));
    ASSIGN_OR_RETURN(FileView data, view_of(group));
    FileView view;
    view.spec_id = data.spec_id;
    view.file.content = model::FileContent::kPositionDeletes;
    view.file.partition = data.file.partition;
    view.file.record_count = exported.record_count;
    view.file.file_size_in_bytes = exported.file_size_bytes;
    view.file.referenced_data_file = group.data_file;
    place_deletes(group, exported, view.file);
    SnapshotChange& change = at(group.snapshot);
    if (group.replaces) change.superseded_deletes.push_back(group.data_file);
    // A file that was written again may hold deletes of later snapshots alone.
    if (exported.record_count == 0) continue;
    change.added_deletes.push_back(std::move(view));
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
    change.rewrites_only = rewrites_only(commit.changes_made) && !commit.stands_for_others;
    take_client_summary(commit, change);
    note_returned(change);
    result.push_back(std::move(change));
  }
  return result;
}

}  // namespace

// Readers of changes pass over a snapshot that only rewrites, so in doubt it does more. A
// flush of deletes that PostgreSQL held names them as deletes once more.
bool rewrites_only(std::string_view changes_made) {
  const std::string entries = without_names(changes_made);
  const bool flushes = entries.find("inline_flush:") != std::string::npos;
  std::string_view rest = entries;
  while (is_rewrite(rest) || (flushes && rest.starts_with("deleted_from_table:"))) {
    std::size_t comma = rest.find(',');
    if (comma == std::string_view::npos) return true;
    rest.remove_prefix(comma + 1);
  }
  return false;
}

base::Result<std::vector<SnapshotChange>> split_changes(const model::LakeTable& table,
                                                        const model::LakeChanges& changes,
                                                        const ExportPlan& plan,
                                                        const Exported& exported) {
  return Split(table, changes, plan, exported).run();
}

}  // namespace lake::materialize

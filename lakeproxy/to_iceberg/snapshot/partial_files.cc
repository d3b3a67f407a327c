#include "lakeproxy/to_iceberg/snapshot/partial_files.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "lakeproxy/to_iceberg/snapshot/shown_snapshots.h"

namespace lake::materialize {
namespace {

using model::LakeChanges;
using model::LakeDataFile;
using model::SnapshotId;

bool sees_a_part(SnapshotId snapshot, const LakeDataFile& file) {
  return file.begin <= snapshot && snapshot < whole_from(file);
}

// The first commit at or after the file's begin tells: commits rise.
bool is_seen_in_part(const LakeDataFile& file, const LakeChanges& changes) {
  auto first = shown_at(changes, file.begin);
  return first && sees_a_part(*first, file);
}

struct Cost {
  std::int64_t delete_files = 0;
  std::int64_t positions = 0;
};
using Costs = std::map<SnapshotId, Cost>;

// A delete file for each commit at which rows of the file begin, until all have.
void add_costs(const LakeChanges& changes, const LakeDataFile& file,
               const model::RowSnapshotIds& begins, Costs& costs) {
  std::map<SnapshotId, std::int64_t> younger;
  std::int64_t after = 0;
  const auto rows = begins.rows_of_snapshots();
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    // Several may be shown by one commit: the youngest of them says how many.
    if (auto at = shown_at(changes, row->first)) younger.emplace(*at, after);
    after += row->second;
  }
  for (const auto& [at, positions] : younger) {
    if (!sees_a_part(at, file)) continue;
    costs[at].delete_files += 1;
    costs[at].positions += positions;
  }
}

// The same for a delete file: one for each commit at which it deletes more.
void add_costs(const LakeChanges& changes, const model::RowEnds& ends, Costs& costs) {
  std::map<SnapshotId, std::int64_t> more;
  for (const model::RowEnd& row : ends) {
    if (auto at = shown_at(changes, row.end)) ++more[*at];
  }
  std::int64_t positions = 0;
  for (const auto& [at, rows] : more) {
    positions += rows;
    costs[at].delete_files += 1;
    costs[at].positions += positions;
  }
}

// Commits that see only some of a delete file: [first, last).
struct Span {
  SnapshotId first;
  SnapshotId last;
};

std::vector<Span> spans_of(const LakeChanges& changes) {
  std::vector<Span> spans;
  for (const auto& [id, begins] : changes.row_snapshot_ids) {
    const LakeDataFile& file = changes.data_files.at(id);
    spans.push_back({file.begin, whole_from(file)});
  }
  for (const auto& [id, ends] : changes.row_ends) {
    auto [first, last] = std::ranges::minmax_element(*ends, {}, &model::RowEnd::end);
    if (first != ends->end()) spans.push_back({first->end, last->end});
  }
  return spans;
}

// The oldest commit down to which the limits suffice. Files that are first shown
// there may each need one delete file more than was counted.
SnapshotId affordable_from(const Costs& costs, const PartialLimits& limits) {
  Cost spent;
  SnapshotId from{INT64_MAX};
  for (auto cost = costs.rbegin(); cost != costs.rend(); ++cost) {
    spent.delete_files += cost->second.delete_files;
    spent.positions += cost->second.positions;
    if (spent.delete_files > limits.delete_files || spent.positions > limits.positions) return from;
    from = cost->first;
  }
  return SnapshotId(INT64_MIN);
}

// Commits before `from` that lie inside a span.
void hide_inside(LakeChanges& changes, const std::vector<Span>& spans, SnapshotId from) {
  std::erase_if(changes.commits, [&](const model::LakeCommit& commit) {
    return commit.snapshot < from && std::ranges::any_of(
                                         spans,
                                         [&](const Span& span) {
                                           return span.first <= commit.snapshot &&
                                                  commit.snapshot < span.last;
                                         });
  });
}

}  // namespace

SnapshotId whole_from(const LakeDataFile& file) {
  const SnapshotId whole = file.partial_max.value_or(file.begin);
  return file.end ? std::min(whole, *file.end) : whole;
}

bool shows_a_part(const LakeChanges& changes, const LakeDataFile& file) {
  return (changes.after && sees_a_part(*changes.after, file)) || is_seen_in_part(file, changes);
}

std::vector<model::DataFileId> partial_files_to_read(const LakeChanges& changes,
                                                     const PartialLimits& limits) {
  std::vector<const LakeDataFile*> files;
  for (const auto& [id, file] : changes.data_files) {
    if (is_seen_in_part(file, changes)) files.push_back(&file);
  }
  std::ranges::sort(files, std::greater{}, [](const LakeDataFile* file) {
    return std::pair(whole_from(*file), file->id);
  });
  std::vector<model::DataFileId> wanted;
  std::int64_t rows = 0;
  for (const LakeDataFile* file : files) {
    rows += file->record_count;
    if (rows > limits.rows_read) break;
    wanted.push_back(file->id);
  }
  return wanted;
}

std::vector<const model::LakeDeleteFile*> delete_files_to_read(const LakeChanges& changes) {
  std::vector<const model::LakeDeleteFile*> wanted;
  for (const model::LakeDeleteFile& file : changes.delete_files) {
    auto first = shown_at(changes, file.begin);
    if (file.format != "parquet" || !first || (file.end && *file.end <= *first)) continue;
    auto data = changes.data_files.find(file.data_file_id);
    const bool flushed = data != changes.data_files.end() && data->second.partial_max;
    if (flushed || file.partial_max) wanted.push_back(&file);
  }
  return wanted;
}

void hide_commits(LakeChanges& changes, const PartialLimits& limits) {
  std::vector<Span> unread;
  for (const auto& [id, file] : changes.data_files) {
    if (!is_seen_in_part(file, changes) || changes.row_snapshot_ids.contains(id)) continue;
    unread.push_back({file.begin, whole_from(file)});
  }
  hide_inside(changes, unread, SnapshotId(INT64_MAX));
  Costs costs;
  for (const auto& [id, begins] : changes.row_snapshot_ids) {
    add_costs(changes, changes.data_files.at(id), *begins, costs);
  }
  for (const auto& [id, ends] : changes.row_ends) add_costs(changes, *ends, costs);
  hide_inside(changes, spans_of(changes), affordable_from(costs, limits));
}

}  // namespace lake::materialize

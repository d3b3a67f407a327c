#include "lakeproxy/to_iceberg/snapshot/partial_files.h"

#include <algorithm>
#include <limits>

#include "lakeproxy/to_iceberg/snapshot/change_split.h"
#include "lakeproxy/to_iceberg/snapshot/shown_snapshots.h"

namespace lake::materialize {
namespace {

using model::SnapshotId;

// Commits that see a part of a file: [first, last).
struct Span {
  SnapshotId first;
  SnapshotId last;
};

void add_span(SnapshotId first, SnapshotId last, std::optional<SnapshotId> end,
              std::vector<Span>& spans) {
  if (end) last = std::min(last, *end);
  if (first < last) spans.push_back({first, last});
}

std::optional<SnapshotId> last_delete(const model::LakeDeleteFile& file) {
  return file.partial_max ? file.partial_max : file.flushed_at;
}

std::vector<Span> spans_of(const model::LakeChanges& changes) {
  std::vector<Span> spans;
  for (const auto& [id, file] : changes.data_files) {
    if (file.partial_max) add_span(file.begin, *file.partial_max, file.end, spans);
    if (!file.copy) continue;
    // Before that its types were others, which no copy is made for any more.
    add_span(file.begin, file.copy->since, file.end, spans);
    const SnapshotId last = file.end.value_or(SnapshotId(std::numeric_limits<std::int64_t>::max()));
    if (file.copy->failure) add_span(file.copy->since, last, file.end, spans);
  }
  for (const auto& file : changes.delete_files) {
    if (changes.row_ends.contains(file.id)) continue;
    if (auto last = last_delete(file)) add_span(file.begin, *last, file.end, spans);
  }
  return spans;
}

}  // namespace

std::vector<const model::LakeDeleteFile*> delete_files_to_read(const model::LakeChanges& changes) {
  std::vector<const model::LakeDeleteFile*> wanted;
  for (const model::LakeDeleteFile& file : changes.delete_files) {
    auto first = shown_at(changes, file.begin);
    if (!first || (file.end && *file.end <= *first)) continue;
    if (last_delete(file) > first) wanted.push_back(&file);
  }
  return wanted;
}

bool hide_commits(model::LakeChanges& changes) {
  const std::vector<Span> spans = spans_of(changes);
  std::vector<model::LakeCommit> shown;
  bool passes_over = false;  // Since the last one that is shown, what may change rows.
  for (model::LakeCommit& commit : changes.commits) {
    const bool hidden = std::ranges::any_of(spans, [&](const Span& span) {
      return span.first <= commit.snapshot && commit.snapshot < span.last;
    });
    if (hidden) {
      passes_over = passes_over || commit.stands_for_others || !rewrites_only(commit.changes_made);
      continue;
    }
    commit.stands_for_others = commit.stands_for_others || passes_over;
    passes_over = false;
    shown.push_back(std::move(commit));
  }
  const bool hides = shown.size() < changes.commits.size();
  changes.commits = std::move(shown);
  return hides;
}

}  // namespace lake::materialize

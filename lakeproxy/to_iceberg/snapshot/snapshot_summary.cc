#include "lakeproxy/to_iceberg/snapshot/snapshot_summary.h"

#include <algorithm>

#include "base/core/text.h"

namespace lake::materialize {
namespace {

struct Counts {
  std::int64_t files = 0;
  std::int64_t records = 0;
  std::int64_t bytes = 0;
};

void add(const model::DataFile& file, Counts& counts) {
  counts.files += 1;
  counts.records += file.record_count;
  counts.bytes += file.file_size_in_bytes;
}

Counts count_views(const std::vector<FileView>& views) {
  Counts counts;
  for (const FileView& view : views) add(view.file, counts);
  return counts;
}

Counts count_files(const std::vector<model::DataFile>& files) {
  Counts counts;
  for (const model::DataFile& file : files) add(file, counts);
  return counts;
}

std::int64_t total(const model::Snapshot* parent, const char* key) {
  if (parent == nullptr) return 0;
  auto found = parent->summary.find(key);
  if (found == parent->summary.end()) return 0;
  return base::parse_int64(found->second).value_or(0);
}

// A deletion vector is counted as one, and not as a position delete file.
std::int64_t count_vectors(const std::vector<model::DataFile>& deletes) {
  return std::ranges::count(deletes, model::FileFormat::kPuffin, &model::DataFile::file_format);
}

std::int64_t count_vectors(const std::vector<FileView>& deletes) {
  return std::ranges::count(deletes, model::FileFormat::kPuffin,
                            [](const FileView& view) { return view.file.file_format; });
}

// How many live rows more there are than before.
std::int64_t new_rows(const SnapshotChange& change, const RemovedFiles& removed) {
  return count_views(change.added_data).records - count_views(change.added_deletes).records -
         count_files(removed.data).records + count_files(removed.deletes).records;
}

using Summary = std::map<std::string, std::string>;

void put_nonzero(Summary& summary, const char* key, std::int64_t value) {
  if (value != 0) summary[key] = std::to_string(value);
}

}  // namespace

model::Operation operation_of(const SnapshotChange& change, const RemovedFiles& removed) {
  bool adds = !change.added_data.empty();
  bool takes = !removed.data.empty() || !change.added_deletes.empty();
  // Readers of changes pass over it, so the rows that it adds and takes must be as many.
  if (change.rewrites_only && new_rows(change, removed) == 0) return model::Operation::kReplace;
  if (change.uncovers_rows) return model::Operation::kOverwrite;
  // Readers of changes rely on these two words; a summary must not break them.
  const bool fits = change.client_operation &&
                    (*change.client_operation != model::Operation::kAppend || !takes) &&
                    (*change.client_operation != model::Operation::kDelete || !adds);
  if (fits) return *change.client_operation;
  if (adds && takes) return model::Operation::kOverwrite;
  return takes ? model::Operation::kDelete : model::Operation::kAppend;
}

Summary summarize(const SnapshotChange& change, const RemovedFiles& removed,
                  const model::Snapshot* parent) {
  Counts added = count_views(change.added_data);
  Counts added_deletes = count_views(change.added_deletes);
  Counts gone = count_files(removed.data);
  Counts gone_deletes = count_files(removed.deletes);
  const std::int64_t added_vectors = count_vectors(change.added_deletes);
  const std::int64_t gone_vectors = count_vectors(removed.deletes);
  Summary summary = change.extra_summary;
  put_nonzero(summary, "added-data-files", added.files);
  put_nonzero(summary, "added-records", added.records);
  put_nonzero(summary, "added-files-size", added.bytes + added_deletes.bytes);
  put_nonzero(summary, "deleted-data-files", gone.files);
  put_nonzero(summary, "deleted-records", gone.records);
  put_nonzero(summary, "removed-files-size", gone.bytes + gone_deletes.bytes);
  put_nonzero(summary, "added-delete-files", added_deletes.files);
  put_nonzero(summary, "added-position-delete-files", added_deletes.files - added_vectors);
  put_nonzero(summary, "added-dvs", added_vectors);
  put_nonzero(summary, "added-position-deletes", added_deletes.records);
  put_nonzero(summary, "removed-delete-files", gone_deletes.files);
  put_nonzero(summary, "removed-position-delete-files", gone_deletes.files - gone_vectors);
  put_nonzero(summary, "removed-dvs", gone_vectors);
  put_nonzero(summary, "removed-position-deletes", gone_deletes.records);
  auto put_total = [&](const char* key, std::int64_t change_of_it) {
    summary[key] = std::to_string(total(parent, key) + change_of_it);
  };
  put_total("total-data-files", added.files - gone.files);
  put_total("total-records", added.records - gone.records);
  put_total("total-files-size",
            added.bytes + added_deletes.bytes - gone.bytes - gone_deletes.bytes);
  put_total("total-delete-files", added_deletes.files - gone_deletes.files);
  put_total("total-position-deletes", added_deletes.records - gone_deletes.records);
  put_total("total-equality-deletes", 0);
  return summary;
}

}  // namespace lake::materialize

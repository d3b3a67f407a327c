#include "lakeproxy/iceberg/manifest/manifest_summary.h"

#include <cmath>
#include <limits>

#include "lakeproxy/iceberg/manifest/partition_struct.h"
#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::materialize {
namespace {

using model::EntryStatus;
using model::Literal;
using model::ManifestEntry;
using model::ManifestFile;

bool is_nan(const Literal& value) {
  if (const auto* narrow = std::get_if<float>(&value)) return std::isnan(*narrow);
  if (const auto* wide = std::get_if<double>(&value)) return std::isnan(*wide);
  return false;
}

/// The range of one partition field over the entries seen.
struct Range {
  bool has_null = false;
  bool has_nan = false;
  const Literal* lower = nullptr;
  const Literal* upper = nullptr;

  void add(const std::optional<Literal>& value) {
    if (!value) {
      has_null = true;
    } else if (is_nan(*value)) {
      has_nan = true;
    } else {
      if (lower == nullptr || *value < *lower) lower = &*value;
      if (upper == nullptr || *upper < *value) upper = &*value;
    }
  }

  [[nodiscard]] model::FieldSummary summary() const {
    model::FieldSummary out{.contains_null = has_null, .contains_nan = has_nan};
    if (lower != nullptr) out.lower_bound = encode_single_value(*lower);
    if (upper != nullptr) out.upper_bound = encode_single_value(*upper);
    return out;
  }
};

void count(ManifestFile& file, const ManifestEntry& entry) {
  switch (entry.status) {
    case EntryStatus::kAdded:
      ++file.added_files_count;
      file.added_rows_count += entry.data_file.record_count;
      break;
    case EntryStatus::kExisting:
      ++file.existing_files_count;
      file.existing_rows_count += entry.data_file.record_count;
      break;
    case EntryStatus::kDeleted:
      ++file.deleted_files_count;
      file.deleted_rows_count += entry.data_file.record_count;
      break;
  }
}

}  // namespace

base::Result<ManifestFile> summarize_manifest(const model::ManifestHeader& header,
                                              std::span<const ManifestEntry> entries,
                                              std::int64_t sequence_number,
                                              model::SnapshotId added_snapshot_id) {
  if (entries.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    return base::fail(base::ErrorKind::kInvalid, "too many entries for one manifest");
  }
  ASSIGN_OR_RETURN(const auto columns, partition_columns(header.schema, header.spec));
  ManifestFile file{.partition_spec_id = header.spec.spec_id,
                    .content = header.content == model::FileContent::kData
                                   ? model::ManifestContent::kData
                                   : model::ManifestContent::kDeletes,
                    .sequence_number = sequence_number,
                    .min_sequence_number = sequence_number,
                    .added_snapshot_id = added_snapshot_id};
  std::vector<Range> ranges(columns.size());
  for (const ManifestEntry& entry : entries) {
    RETURN_IF_ERROR(check_partition(columns, entry.data_file.partition));
    count(file, entry);
    if (entry.status != EntryStatus::kDeleted && entry.sequence_number) {
      file.min_sequence_number = std::min(file.min_sequence_number, *entry.sequence_number);
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) ranges[i].add(entry.data_file.partition[i]);
  }
  for (const Range& range : ranges) file.partitions.push_back(range.summary());
  return file;
}

}  // namespace lake::materialize

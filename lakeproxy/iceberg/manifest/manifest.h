#pragma once

// The files of a snapshot, as manifests and manifest lists describe them.
// Values only: the encodings are in manifest_versions.h.
// Source: Iceberg table specification, "Manifests" and "Manifest Lists".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/iceberg/schema/literal.h"
#include "lakeproxy/iceberg/schema/partition_spec.h"
#include "lakeproxy/iceberg/schema/schema.h"
#include "lakeproxy/model/ids.h"

namespace lake::model {

enum class FileContent : std::uint8_t { kData = 0, kPositionDeletes = 1, kEqualityDeletes = 2 };
enum class FileFormat : std::uint8_t { kParquet, kAvro, kOrc, kPuffin };
[[nodiscard]] std::string_view to_string(FileFormat format);  ///< "PARQUET"
[[nodiscard]] std::optional<FileFormat> parse_file_format(std::string_view text);

/// One value for each field of the partition spec, in its order; nothing is null.
using PartitionTuple = std::vector<std::optional<Literal>>;

/// Statistics of one column in one file. Absent parts are unknown.
struct ColumnMetrics {
  std::optional<std::int64_t> column_size;  ///< Bytes on disk.
  std::optional<std::int64_t> value_count;  ///< Nulls and NaNs included.
  std::optional<std::int64_t> null_count;
  std::optional<std::int64_t> nan_count;
  /// Iceberg's binary single-value serialisation; may be truncated text.
  std::optional<std::string> lower_bound;
  std::optional<std::string> upper_bound;

  friend bool operator==(const ColumnMetrics&, const ColumnMetrics&) = default;
};

struct DataFile {
  FileContent content = FileContent::kData;
  std::string file_path;
  FileFormat file_format = FileFormat::kParquet;
  PartitionTuple partition;
  std::int64_t record_count = 0;
  std::int64_t file_size_in_bytes = 0;
  std::map<FieldId, ColumnMetrics> metrics;
  std::optional<std::string> key_metadata;
  std::vector<std::int64_t> split_offsets;
  std::vector<FieldId> equality_ids;
  std::optional<std::int32_t> sort_order_id;
  std::optional<std::int64_t> first_row_id;           ///< Format version 3.
  std::optional<std::string> referenced_data_file;    ///< Position deletes of one file.
  std::optional<std::int64_t> content_offset;         ///< Deletion vectors.
  std::optional<std::int64_t> content_size_in_bytes;  ///< Deletion vectors.

  friend bool operator==(const DataFile&, const DataFile&) = default;
};

enum class EntryStatus : std::uint8_t { kExisting = 0, kAdded = 1, kDeleted = 2 };

struct ManifestEntry {
  EntryStatus status = EntryStatus::kAdded;
  /// Absent means inherited from the manifest list.
  std::optional<SnapshotId> snapshot_id;
  std::optional<std::int64_t> sequence_number;
  std::optional<std::int64_t> file_sequence_number;
  DataFile data_file;

  friend bool operator==(const ManifestEntry&, const ManifestEntry&) = default;
};

/// What a manifest's header says.
struct ManifestHeader {
  Schema schema;
  PartitionSpec spec;
  FileContent content = FileContent::kData;  ///< kData, or kPositionDeletes for "deletes".
  std::int32_t format_version = 2;
};

struct FieldSummary {
  bool contains_null = false;
  std::optional<bool> contains_nan;
  std::optional<std::string> lower_bound;  ///< Binary single-value form.
  std::optional<std::string> upper_bound;

  friend bool operator==(const FieldSummary&, const FieldSummary&) = default;
};

enum class ManifestContent : std::uint8_t { kData = 0, kDeletes = 1 };

/// One row of a manifest list.
struct ManifestFile {
  std::string manifest_path;
  std::int64_t manifest_length = 0;
  std::int32_t partition_spec_id = 0;
  ManifestContent content = ManifestContent::kData;
  std::int64_t sequence_number = 0;
  std::int64_t min_sequence_number = 0;
  SnapshotId added_snapshot_id;
  std::int32_t added_files_count = 0;
  std::int32_t existing_files_count = 0;
  std::int32_t deleted_files_count = 0;
  std::int64_t added_rows_count = 0;
  std::int64_t existing_rows_count = 0;
  std::int64_t deleted_rows_count = 0;
  std::vector<FieldSummary> partitions;
  std::optional<std::string> key_metadata;
  std::optional<std::int64_t> first_row_id;  ///< Format version 3.

  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

}  // namespace lake::model

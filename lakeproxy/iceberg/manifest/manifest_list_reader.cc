#include <array>
#include <optional>
#include <string>
#include <utility>

#include "lakeproxy/iceberg/manifest/avro_values.h"
#include "lakeproxy/iceberg/manifest/manifest_reader.h"

namespace lake::materialize {
namespace {

using base::Result;
using base::Status;
using base::avro::Value;
using model::FieldSummary;
using model::ManifestFile;

constexpr std::int32_t kUnknownCount = -1;

// The counts of files were once called "..._data_files_count".
constexpr auto kManifestFileFields = std::to_array<KnownField>({{"manifest_path", 500},
                                                                {"manifest_length", 501},
                                                                {"partition_spec_id", 502},
                                                                {"added_snapshot_id", 503},
                                                                {"added_files_count", 504},
                                                                {"added_data_files_count", 504},
                                                                {"existing_files_count", 505},
                                                                {"existing_data_files_count", 505},
                                                                {"deleted_files_count", 506},
                                                                {"deleted_data_files_count", 506},
                                                                {"partitions", 507},
                                                                {"added_rows_count", 512},
                                                                {"existing_rows_count", 513},
                                                                {"deleted_rows_count", 514},
                                                                {"sequence_number", 515},
                                                                {"min_sequence_number", 516},
                                                                {"content", 517},
                                                                {"key_metadata", 519},
                                                                {"first_row_id", 520}});

constexpr auto kSummaryFields = std::to_array<KnownField>(
    {{"contains_null", 509}, {"lower_bound", 510}, {"upper_bound", 511}, {"contains_nan", 518}});

base::Error corrupt(std::string message) {
  return base::fail(base::ErrorKind::kCorrupt, "manifest list: " + std::move(message));
}

template <class Target, class T>
Status store(Target& target, Result<T> value) {
  if (!value) return std::move(value).error();
  target = std::move(*value);
  return {};
}

class RowReader {
 public:
  Result<ManifestFile> read(Value record) {
    ManifestFile file{.added_files_count = kUnknownCount,
                      .existing_files_count = kUnknownCount,
                      .deleted_files_count = kUnknownCount,
                      .added_rows_count = kUnknownCount,
                      .existing_rows_count = kUnknownCount,
                      .deleted_rows_count = kUnknownCount};
    has_length_ = false;
    RETURN_IF_ERROR(for_each_field(record, row_ids_, [&](std::int32_t id, Value value) {
      return value.is_null() ? Status() : take_field(file, id, value);
    }));
    if (file.manifest_path.empty() || !has_length_) return corrupt("a row lacks a required field");
    return file;
  }

 private:
  Status take_field(ManifestFile& file, std::int32_t id, Value value) {
    switch (id) {
      case 500: return store(file.manifest_path, path_of(value, "manifest_path"));
      case 501:
        has_length_ = true;
        return store(file.manifest_length, count_of(value, "manifest_length"));
      case 502: return store(file.partition_spec_id, int_of(value, "partition_spec_id"));
      case 503: return store(file.added_snapshot_id.value, long_of(value, "added_snapshot_id"));
      case 504: return take_count(file.added_files_count, value);
      case 505: return take_count(file.existing_files_count, value);
      case 506: return take_count(file.deleted_files_count, value);
      case 507: return take_partitions(file, value);
      case 512: return store(file.added_rows_count, count_of(value, "added_rows_count"));
      case 513: return store(file.existing_rows_count, count_of(value, "existing_rows_count"));
      case 514: return store(file.deleted_rows_count, count_of(value, "deleted_rows_count"));
      case 515: return store(file.sequence_number, count_of(value, "sequence_number"));
      case 516: return store(file.min_sequence_number, count_of(value, "min_sequence_number"));
      case 517: return take_content(file, value);
      case 519: return store(file.key_metadata, bytes_of(value, "key_metadata"));
      case 520: return store(file.first_row_id, count_of(value, "first_row_id"));
      default: return {};
    }
  }

  static Status take_count(std::int32_t& count, Value value) {
    ASSIGN_OR_RETURN(count, int_of(value, "a count of files"));
    if (count < 0) return corrupt("a negative count of files");
    return {};
  }

  static Status take_content(ManifestFile& file, Value value) {
    ASSIGN_OR_RETURN(const std::int32_t content, int_of(value, "content"));
    if (content < 0 || content > 1) return corrupt("an unknown content");
    file.content = static_cast<model::ManifestContent>(content);
    return {};
  }

  Status take_partitions(ManifestFile& file, Value list) {
    if (list.type() != base::avro::Type::kArray) return corrupt("partitions are not a list");
    file.partitions.reserve(list.size());
    for (Value item : list) {
      FieldSummary summary;
      RETURN_IF_ERROR(for_each_field(item, summary_ids_, [&](std::int32_t id, Value value) {
        return value.is_null() ? Status() : take_summary_field(summary, id, value);
      }));
      file.partitions.push_back(std::move(summary));
    }
    return {};
  }

  static Status take_summary_field(FieldSummary& summary, std::int32_t id, Value value) {
    switch (id) {
      case 509: return store(summary.contains_null, boolean_of(value, "contains_null"));
      case 510: return store(summary.lower_bound, bytes_of(value, "lower_bound"));
      case 511: return store(summary.upper_bound, bytes_of(value, "upper_bound"));
      case 518: return store(summary.contains_nan, boolean_of(value, "contains_nan"));
      default: return {};
    }
  }

  FieldIds row_ids_{kManifestFileFields};
  FieldIds summary_ids_{kSummaryFields};
  bool has_length_ = false;
};

}  // namespace

Result<std::vector<ManifestFile>> read_manifest_list(std::string_view file, ManifestLimits limits,
                                                     ManifestHeaders* headers) {
  base::avro::SchemaCache* schemas = headers != nullptr ? &headers->schemas() : nullptr;
  ASSIGN_OR_RETURN(auto reader, base::avro::ContainerReader::open(file, limits.avro, schemas));
  std::vector<ManifestFile> rows;
  RowReader row_reader;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Value> record, reader.next());
    if (!record) return rows;
    if (rows.size() >= limits.entries) {
      return base::fail(base::ErrorKind::kTooLarge, "manifest list: too many rows");
    }
    ASSIGN_OR_RETURN(ManifestFile row, row_reader.read(*record));
    rows.push_back(std::move(row));
  }
}

}  // namespace lake::materialize

#include "lakeproxy/iceberg/manifest/manifest_reader.h"

#include <array>
#include <string>
#include <utility>

#include "lakeproxy/iceberg/manifest/avro_values.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"
#include "lakeproxy/iceberg/manifest/partition_struct.h"
#include "lakeproxy/iceberg/value/transform.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::Result;
using base::Status;
using base::avro::ContainerReader;
using base::avro::Value;
using model::ColumnMetrics;
using model::DataFile;
using model::FileContent;
using model::ManifestEntry;

constexpr auto kEntryFields = std::to_array<KnownField>({{"status", 0},
                                                         {"snapshot_id", 1},
                                                         {"data_file", 2},
                                                         {"sequence_number", 3},
                                                         {"file_sequence_number", 4}});

constexpr auto kDataFileFields = std::to_array<KnownField>(
    {{"file_path", 100},      {"file_format", 101},          {"partition", 102},
     {"record_count", 103},   {"file_size_in_bytes", 104},   {"column_sizes", 108},
     {"value_counts", 109},   {"null_value_counts", 110},    {"lower_bounds", 125},
     {"upper_bounds", 128},   {"key_metadata", 131},         {"split_offsets", 132},
     {"content", 134},        {"equality_ids", 135},         {"nan_value_counts", 137},
     {"sort_order_id", 140},  {"first_row_id", 142},         {"referenced_data_file", 143},
     {"content_offset", 144}, {"content_size_in_bytes", 145}});

base::Error corrupt(std::string message) {
  return base::fail(ErrorKind::kCorrupt, "manifest: " + std::move(message));
}

/// Holds views of the header and of its own names: it stays where it is.
class EntryReader {
 public:
  EntryReader(const EntryReader&) = delete;
  EntryReader& operator=(const EntryReader&) = delete;
  EntryReader(const model::ManifestHeader& header, std::size_t max_statistics)
      : header_(header), statistics_left_(max_statistics) {
    for (const model::PartitionField& field : header.spec.fields) {
      std::optional<model::Type> type;
      if (const model::Field* source = header.schema.find(field.source_id)) {
        auto result = transform_result_type(field.transform, source->type);
        if (result) type = *result;
      }
      partition_types_.push_back(std::move(type));
      partition_names_.push_back(avro_name(field.name));
    }
    for (std::size_t i = 0; i < partition_names_.size(); ++i) {
      partition_fields_.push_back({partition_names_[i], header.spec.fields[i].field_id});
    }
    partition_ids_.emplace(partition_fields_);
  }

  Result<ManifestEntry> read(Value record) {
    ManifestEntry entry;
    seen_ = 0;
    RETURN_IF_ERROR(for_each_field(record, entry_ids_, [&](std::int32_t id, Value value) {
      return take_entry_field(entry, id, value);
    }));
    if (seen_ != kAllRequired) return corrupt("an entry lacks a required field");
    if (header_.format_version == 1) {
      entry.sequence_number = 0;
      entry.file_sequence_number = 0;
    }
    const bool is_data = entry.data_file.content == FileContent::kData;
    if (is_data != (header_.content == FileContent::kData)) {
      return corrupt("a file's content is not the manifest's");
    }
    return entry;
  }

 private:
  enum Required : unsigned {
    kStatus = 1,
    kDataFile = 2,
    kPath = 4,
    kFormat = 8,
    kRecords = 16,
    kSize = 32,
    kAllRequired = 63,
  };

  Status take_entry_field(ManifestEntry& entry, std::int32_t id, Value value) {
    if (value.is_null()) return {};
    switch (id) {
      case 0: return take_status(entry, value);
      case 1: {
        ASSIGN_OR_RETURN(const std::int64_t snapshot, long_of(value, "snapshot_id"));
        entry.snapshot_id = model::SnapshotId(snapshot);
        return {};
      }
      case 2:
        seen_ |= kDataFile;
        return for_each_field(value, file_ids_, [&](std::int32_t file_id, Value field) {
          return field.is_null() ? Status() : take_file_field(entry.data_file, file_id, field);
        });
      case 3: return store(entry.sequence_number, count_of(value, "sequence_number"));
      case 4: return store(entry.file_sequence_number, count_of(value, "file_sequence_number"));
      default: return {};
    }
  }

  template <class Target, class T>
  static Status store(Target& target, Result<T> value) {
    if (!value) return std::move(value).error();
    target = std::move(*value);
    return {};
  }

  template <class Target, class T>
  Status require(Required which, Target& target, Result<T> value) {
    seen_ |= which;
    return store(target, std::move(value));
  }

  Status take_status(ManifestEntry& entry, Value value) {
    seen_ |= kStatus;
    ASSIGN_OR_RETURN(const std::int32_t status, int_of(value, "status"));
    if (status < 0 || status > 2) return corrupt("an unknown status");
    entry.status = static_cast<model::EntryStatus>(status);
    return {};
  }

  Status take_file_field(DataFile& file, std::int32_t id, Value value) {
    switch (id) {
      case 100: return require(kPath, file.file_path, path_of(value, "file_path"));
      case 101: return take_format(file, value);
      case 102: return take_partition(file, value);
      case 103: return require(kRecords, file.record_count, count_of(value, "record_count"));
      case 104:
        return require(kSize, file.file_size_in_bytes, count_of(value, "file_size_in_bytes"));
      case 108: return take_metric(file, value, &ColumnMetrics::column_size);
      case 109: return take_metric(file, value, &ColumnMetrics::value_count);
      case 110: return take_metric(file, value, &ColumnMetrics::null_count);
      case 137: return take_metric(file, value, &ColumnMetrics::nan_count);
      case 125: return take_metric(file, value, &ColumnMetrics::lower_bound);
      case 128: return take_metric(file, value, &ColumnMetrics::upper_bound);
      case 131: return store(file.key_metadata, bytes_of(value, "key_metadata"));
      case 132: return take_list(file.split_offsets, value, long_of);
      case 134: return take_content(file, value);
      case 135: return take_list(file.equality_ids, value, int_of);
      case 140: return store(file.sort_order_id, int_of(value, "sort_order_id"));
      case 142: return store(file.first_row_id, count_of(value, "first_row_id"));
      case 143: return store(file.referenced_data_file, path_of(value, "referenced_data_file"));
      case 144: return store(file.content_offset, count_of(value, "content_offset"));
      case 145: return store(file.content_size_in_bytes, count_of(value, "content_size_in_bytes"));
      default: return {};
    }
  }

  Status take_format(DataFile& file, Value value) {
    seen_ |= kFormat;
    ASSIGN_OR_RETURN(const std::string text, bytes_of(value, "file_format"));
    const auto format = model::parse_file_format(text);
    if (!format) return corrupt("an unknown file format");
    file.file_format = *format;
    return {};
  }

  static Status take_content(DataFile& file, Value value) {
    ASSIGN_OR_RETURN(const std::int32_t content, int_of(value, "content"));
    if (content < 0 || content > 2) return corrupt("an unknown content");
    file.content = static_cast<FileContent>(content);
    return {};
  }

  Status take_partition(DataFile& file, Value value) {
    file.partition.assign(header_.spec.fields.size(), std::nullopt);
    return for_each_field(value, *partition_ids_, [&](std::int32_t id, Value field) -> Status {
      if (field.is_null()) return {};
      for (std::size_t i = 0; i < partition_fields_.size(); ++i) {
        if (partition_fields_[i].id != id) continue;
        const auto& type = partition_types_[i];
        return store(file.partition[i], literal_of(field, type ? *type : type_of(field.node())));
      }
      return {};
    });
  }

  // A map is an array of {key, value} records, in this order with every writer known.
  template <class T>
  Status take_metric(DataFile& file, Value map, std::optional<T> ColumnMetrics::* part) {
    if (map.type() != base::avro::Type::kArray) return corrupt("statistics are not a map");
    auto hint = file.metrics.begin();
    for (Value pair : map) {
      if (pair.type() != base::avro::Type::kRecord || pair.size() < 2) {
        return corrupt("statistics are not a map");
      }
      const bool swapped = pair.node().fields.front().name == "value";
      ASSIGN_OR_RETURN(const std::int32_t id, int_of(pair.at(swapped ? 1 : 0), "a column id"));
      const Value value = pair.at(swapped ? 0 : 1);
      if (value.is_null()) continue;
      const std::size_t before = file.metrics.size();
      hint = file.metrics.try_emplace(hint, id);
      if (file.metrics.size() > before && statistics_left_-- == 0) {
        return base::fail(ErrorKind::kTooLarge, "manifest: too many statistics");
      }
      if constexpr (std::is_same_v<T, std::int64_t>) {
        RETURN_IF_ERROR(store(hint->second.*part, long_of(value, "a statistic")));
      } else {
        RETURN_IF_ERROR(store(hint->second.*part, bytes_of(value, "a bound")));
      }
      ++hint;
    }
    return {};
  }

  template <class T>
  static Status take_list(std::vector<T>& out, Value list,
                          Result<T> (*read)(Value, std::string_view)) {
    if (list.type() != base::avro::Type::kArray) return corrupt("a list was expected");
    out.clear();
    out.reserve(list.size());
    for (Value item : list) {
      ASSIGN_OR_RETURN(T element, read(item, "a list's element"));
      out.push_back(element);
    }
    return {};
  }

  const model::ManifestHeader& header_;
  FieldIds entry_ids_{kEntryFields};
  FieldIds file_ids_{kDataFileFields};
  std::vector<std::optional<model::Type>> partition_types_;
  std::vector<std::string> partition_names_;
  std::vector<KnownField> partition_fields_;
  std::optional<FieldIds> partition_ids_;
  unsigned seen_ = 0;
  std::size_t statistics_left_;
};

}  // namespace

Result<Manifest> read_manifest(std::string_view file, ManifestLimits limits,
                               ManifestHeaders* headers) {
  base::avro::SchemaCache* schemas = headers != nullptr ? &headers->schemas() : nullptr;
  ASSIGN_OR_RETURN(ContainerReader reader, ContainerReader::open(file, limits.avro, schemas));
  Manifest manifest;
  if (headers != nullptr) {
    ASSIGN_OR_RETURN(auto header, headers->read(reader));
    manifest.header = *header;
  } else {
    ASSIGN_OR_RETURN(manifest.header, read_manifest_header(reader));
  }
  EntryReader entries(manifest.header, limits.statistics);
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Value> record, reader.next());
    if (!record) break;
    if (manifest.entries.size() >= limits.entries) {
      return base::fail(ErrorKind::kTooLarge, "manifest: too many entries");
    }
    ASSIGN_OR_RETURN(ManifestEntry entry, entries.read(*record));
    manifest.entries.push_back(std::move(entry));
  }
  manifest.unpacked_bytes = reader.unpacked_bytes();
  return manifest;
}

}  // namespace lake::materialize

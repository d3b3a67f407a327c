#include "lakeproxy/iceberg/manifest/manifest_parts.h"

#include <fmt/format.h>

#include "base/json/json.h"
#include "lakeproxy/iceberg/manifest/avro_fields.h"
#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::materialize {
namespace {

using base::avro::Encoder;
using model::ColumnMetrics;
using model::DataFile;
using model::FileContent;
using model::ManifestEntry;

void put_optional_text(Encoder& out, const std::optional<std::string>& value) {
  out.put_branch(value ? 1 : 0);
  if (value) out.put_bytes(*value);
}

/// One statistic of all columns; null when no column has it.
template <class T>
void put_metric(Encoder& out, const DataFile& file, std::optional<T> ColumnMetrics::* part) {
  std::size_t count = 0;
  for (const auto& [id, metrics] : file.metrics) count += (metrics.*part).has_value() ? 1 : 0;
  out.put_branch(count == 0 ? 0 : 1);
  if (count == 0) return;
  out.put_block(count);
  for (const auto& [id, metrics] : file.metrics) {
    const std::optional<T>& value = metrics.*part;
    if (!value) continue;
    out.put_long(id);
    if constexpr (std::is_same_v<T, std::int64_t>) {
      out.put_long(*value);
    } else {
      out.put_bytes(*value);
    }
  }
  out.put_end();
}

template <class T>
void put_list(Encoder& out, const std::vector<T>& values) {
  out.put_branch(values.empty() ? 0 : 1);
  if (values.empty()) return;
  out.put_block(values.size());
  for (T value : values) out.put_long(value);
  out.put_end();
}

std::string manifest_entry_type(const std::vector<std::string>& data_file_fields) {
  return record_type(
      "manifest_entry",
      {required_field("status", kAvroInt, 0), optional_field("snapshot_id", kAvroLong, 1),
       optional_field("sequence_number", kAvroLong, 3),
       optional_field("file_sequence_number", kAvroLong, 4),
       required_field("data_file", record_type("r2", data_file_fields), 2)});
}

base::avro::Metadata manifest_metadata(const model::ManifestHeader& header,
                                       std::int32_t format_version) {
  return {{"schema", base::json::write(model::to_json(header.schema))},
          {"schema-id", fmt::format("{}", header.schema.schema_id)},
          {"partition-spec", base::json::write(model::fields_to_json(header.spec))},
          {"partition-spec-id", fmt::format("{}", header.spec.spec_id)},
          {"format-version", fmt::to_string(format_version)},
          {"content", header.content == FileContent::kData ? "data" : "deletes"}};
}

}  // namespace

std::vector<std::string> data_file_fields(const std::vector<PartitionColumn>& columns) {
  return {required_field("content", kAvroInt, 134),
          required_field("file_path", kAvroString, 100),
          required_field("file_format", kAvroString, 101),
          required_field("partition", partition_record_type(columns), 102),
          required_field("record_count", kAvroLong, 103),
          required_field("file_size_in_bytes", kAvroLong, 104),
          optional_field("column_sizes", int_map_type(117, kAvroLong, 118), 108),
          optional_field("value_counts", int_map_type(119, kAvroLong, 120), 109),
          optional_field("null_value_counts", int_map_type(121, kAvroLong, 122), 110),
          optional_field("nan_value_counts", int_map_type(138, kAvroLong, 139), 137),
          optional_field("lower_bounds", int_map_type(126, kAvroBytes, 127), 125),
          optional_field("upper_bounds", int_map_type(129, kAvroBytes, 130), 128),
          optional_field("key_metadata", kAvroBytes, 131),
          optional_field("split_offsets", list_type(kAvroLong, 133), 132),
          optional_field("equality_ids", list_type(kAvroInt, 136), 135),
          optional_field("sort_order_id", kAvroInt, 140),
          optional_field("referenced_data_file", kAvroString, 143)};
}

ManifestHeaders::Made manifest_container_header(const model::ManifestHeader& header,
                                                const std::vector<PartitionColumn>& columns,
                                                FieldTypes fields, std::int32_t format_version,
                                                base::avro::Codec codec, ManifestHeaders* kept) {
  auto make = [&] {
    return base::avro::make_container_header(manifest_entry_type(fields(columns)),
                                             manifest_metadata(header, format_version), codec);
  };
  if (kept != nullptr) return kept->written(header, format_version, codec, make);
  return std::make_shared<const base::avro::ContainerHeader>(make());
}

base::Error invalid_file(const DataFile& file, std::string_view rule) {
  return base::fail(base::ErrorKind::kInvalid, fmt::format("file '{}': {}", file.file_path, rule));
}

base::Status check_entry(const model::ManifestHeader& header, const ManifestEntry& entry,
                         const std::vector<PartitionColumn>& columns) {
  const DataFile& file = entry.data_file;
  if ((file.content == FileContent::kData) != (header.content == FileContent::kData)) {
    return invalid_file(file, "its content is not the manifest's");
  }
  if (entry.status != model::EntryStatus::kAdded &&
      !(entry.snapshot_id && entry.sequence_number && entry.file_sequence_number)) {
    return invalid_file(file, "an entry that is not new needs its snapshot and sequence numbers");
  }
  auto status = check_partition(columns, file.partition);
  if (!status) return std::move(status).error().with_context("file '" + file.file_path + "'");
  return {};
}

void put_optional_long(Encoder& out, const std::optional<std::int64_t>& value) {
  out.put_branch(value ? 1 : 0);
  if (value) out.put_long(*value);
}

// In the order of data_file_fields().
void put_data_file(Encoder& out, const DataFile& file,
                   const std::vector<PartitionColumn>& columns) {
  out.put_long(static_cast<std::int64_t>(file.content));
  out.put_bytes(file.file_path);
  out.put_bytes(model::to_string(file.file_format));
  put_partition(out, columns, file.partition);
  out.put_long(file.record_count);
  out.put_long(file.file_size_in_bytes);
  put_metric(out, file, &ColumnMetrics::column_size);
  put_metric(out, file, &ColumnMetrics::value_count);
  put_metric(out, file, &ColumnMetrics::null_count);
  put_metric(out, file, &ColumnMetrics::nan_count);
  put_metric(out, file, &ColumnMetrics::lower_bound);
  put_metric(out, file, &ColumnMetrics::upper_bound);
  put_optional_text(out, file.key_metadata);
  put_list(out, file.split_offsets);
  put_list(out, file.equality_ids);
  put_optional_long(out, file.sort_order_id);
  put_optional_text(out, file.referenced_data_file);
}

void put_entry_head(Encoder& out, const ManifestEntry& entry) {
  out.put_long(static_cast<std::int64_t>(entry.status));
  out.put_branch(entry.snapshot_id ? 1 : 0);
  if (entry.snapshot_id) out.put_long(entry.snapshot_id->value);
  put_optional_long(out, entry.sequence_number);
  put_optional_long(out, entry.file_sequence_number);
}

}  // namespace lake::materialize

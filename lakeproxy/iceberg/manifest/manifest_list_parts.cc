#include "lakeproxy/iceberg/manifest/manifest_list_parts.h"

#include <fmt/format.h>

#include "lakeproxy/iceberg/manifest/avro_fields.h"

namespace lake::materialize {
namespace {

using base::avro::Encoder;
using model::FieldSummary;
using model::ManifestFile;

std::string field_summary_type() {
  return record_type("r508", {required_field("contains_null", kAvroBoolean, 509),
                              optional_field("contains_nan", kAvroBoolean, 518),
                              optional_field("lower_bound", kAvroBytes, 510),
                              optional_field("upper_bound", kAvroBytes, 511)});
}

void put_optional_bytes(Encoder& out, const std::optional<std::string>& value) {
  out.put_branch(value ? 1 : 0);
  if (value) out.put_bytes(*value);
}

void put_summary(Encoder& out, const FieldSummary& summary) {
  out.put_boolean(summary.contains_null);
  out.put_branch(summary.contains_nan ? 1 : 0);
  if (summary.contains_nan) out.put_boolean(*summary.contains_nan);
  put_optional_bytes(out, summary.lower_bound);
  put_optional_bytes(out, summary.upper_bound);
}

}  // namespace

std::vector<std::string> manifest_file_fields() {
  return {required_field("manifest_path", kAvroString, 500),
          required_field("manifest_length", kAvroLong, 501),
          required_field("partition_spec_id", kAvroInt, 502),
          required_field("content", kAvroInt, 517),
          required_field("sequence_number", kAvroLong, 515),
          required_field("min_sequence_number", kAvroLong, 516),
          required_field("added_snapshot_id", kAvroLong, 503),
          required_field("added_files_count", kAvroInt, 504),
          required_field("existing_files_count", kAvroInt, 505),
          required_field("deleted_files_count", kAvroInt, 506),
          required_field("added_rows_count", kAvroLong, 512),
          required_field("existing_rows_count", kAvroLong, 513),
          required_field("deleted_rows_count", kAvroLong, 514),
          optional_field("partitions", list_type(field_summary_type(), 508), 507),
          optional_field("key_metadata", kAvroBytes, 519)};
}

base::avro::Metadata manifest_list_metadata(const ManifestListHeader& header,
                                            std::string_view format_version) {
  return {
      {"snapshot-id", fmt::format("{}", header.snapshot_id.value)},
      {"parent-snapshot-id",
       header.parent_snapshot_id ? fmt::format("{}", header.parent_snapshot_id->value) : "null"},
      {"sequence-number", fmt::format("{}", header.sequence_number)},
      {"format-version", std::string(format_version)}};
}

base::Status check_manifest(const ManifestFile& file) {
  for (std::int64_t count :
       {file.manifest_length, std::int64_t{file.added_files_count},
        std::int64_t{file.existing_files_count}, std::int64_t{file.deleted_files_count},
        file.added_rows_count, file.existing_rows_count, file.deleted_rows_count}) {
    if (count < 0) {
      return base::fail(base::ErrorKind::kInvalid,
                        fmt::format("manifest '{}': a negative count", file.manifest_path));
    }
  }
  return {};
}

// In the order of manifest_file_fields(). The summaries of an unpartitioned
// manifest are an empty list, which says that nothing is missing.
void put_manifest(Encoder& out, const ManifestFile& file) {
  out.put_bytes(file.manifest_path);
  out.put_long(file.manifest_length);
  out.put_long(file.partition_spec_id);
  out.put_long(static_cast<std::int64_t>(file.content));
  out.put_long(file.sequence_number);
  out.put_long(file.min_sequence_number);
  out.put_long(file.added_snapshot_id.value);
  out.put_long(file.added_files_count);
  out.put_long(file.existing_files_count);
  out.put_long(file.deleted_files_count);
  out.put_long(file.added_rows_count);
  out.put_long(file.existing_rows_count);
  out.put_long(file.deleted_rows_count);
  out.put_branch(1);
  if (!file.partitions.empty()) out.put_block(file.partitions.size());
  for (const FieldSummary& summary : file.partitions) put_summary(out, summary);
  out.put_end();
  put_optional_bytes(out, file.key_metadata);
}

}  // namespace lake::materialize

#include <utility>

#include "base/avro/container_writer.h"
#include "lakeproxy/iceberg/manifest/avro_fields.h"
#include "lakeproxy/iceberg/manifest/manifest_parts.h"
#include "lakeproxy/iceberg/manifest/manifest_versions.h"

namespace lake::materialize {
namespace {

using model::DataFile;
using model::FileContent;

std::vector<std::string> fields_v3(const std::vector<PartitionColumn>& columns) {
  std::vector<std::string> fields = data_file_fields(columns);
  fields.push_back(optional_field("first_row_id", kAvroLong, 142));
  fields.push_back(optional_field("content_offset", kAvroLong, 144));
  fields.push_back(optional_field("content_size_in_bytes", kAvroLong, 145));
  return fields;
}

base::Status check_row_ids(const DataFile& file) {
  if (file.first_row_id && file.content != FileContent::kData) {
    return invalid_file(file, "a delete file has no row ids");
  }
  if (file.first_row_id && *file.first_row_id < 0) {
    return invalid_file(file, "first_row_id is negative");
  }
  return {};
}

// A blob of a Puffin file, and of what data file the rows are.
base::Status check_deletion_vector(const DataFile& file) {
  const bool is_vector = file.file_format == model::FileFormat::kPuffin;
  const bool is_placed = file.content_offset && file.content_size_in_bytes;
  if (is_vector &&
      (file.content != FileContent::kPositionDeletes || !is_placed || !file.referenced_data_file)) {
    return invalid_file(file, "a deletion vector needs its place and its data file");
  }
  if (!is_vector && (file.content_offset || file.content_size_in_bytes)) {
    return invalid_file(file, "only a deletion vector is a part of its file");
  }
  return {};
}

}  // namespace

base::Result<std::string> encode_manifest_v3(const model::ManifestHeader& header,
                                             std::span<const model::ManifestEntry> entries,
                                             base::avro::Codec codec, ManifestHeaders* kept) {
  ASSIGN_OR_RETURN(const auto columns, partition_columns(header.schema, header.spec));
  base::avro::ContainerWriter writer(
      *manifest_container_header(header, columns, fields_v3, 3, codec, kept));
  for (const model::ManifestEntry& entry : entries) {
    RETURN_IF_ERROR(check_entry(header, entry, columns));
    const DataFile& file = entry.data_file;
    RETURN_IF_ERROR(check_row_ids(file));
    RETURN_IF_ERROR(check_deletion_vector(file));
    put_entry_head(writer.encoder(), entry);
    put_data_file(writer.encoder(), file, columns);
    put_optional_long(writer.encoder(), file.first_row_id);
    put_optional_long(writer.encoder(), file.content_offset);
    put_optional_long(writer.encoder(), file.content_size_in_bytes);
    writer.end_datum();
  }
  return std::move(writer).finish();
}

}  // namespace lake::materialize

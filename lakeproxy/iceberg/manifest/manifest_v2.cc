#include <utility>

#include "base/avro/container_writer.h"
#include "lakeproxy/iceberg/manifest/manifest_parts.h"
#include "lakeproxy/iceberg/manifest/manifest_versions.h"

namespace lake::materialize {

base::Result<std::string> encode_manifest_v2(const model::ManifestHeader& header,
                                             std::span<const model::ManifestEntry> entries,
                                             base::avro::Codec codec, ManifestHeaders* kept) {
  ASSIGN_OR_RETURN(const auto columns, partition_columns(header.schema, header.spec));
  base::avro::ContainerWriter writer(
      *manifest_container_header(header, columns, data_file_fields, 2, codec, kept));
  for (const model::ManifestEntry& entry : entries) {
    RETURN_IF_ERROR(check_entry(header, entry, columns));
    const model::DataFile& file = entry.data_file;
    if (file.content_offset || file.content_size_in_bytes) {
      return invalid_file(file, "deletion vectors need format version 3");
    }
    put_entry_head(writer.encoder(), entry);
    put_data_file(writer.encoder(), file, columns);
    writer.end_datum();
  }
  return std::move(writer).finish();
}

}  // namespace lake::materialize

#include <fmt/format.h>

#include <utility>

#include "lakeproxy/iceberg/manifest/avro_fields.h"
#include "lakeproxy/iceberg/manifest/manifest_parts.h"
#include "lakeproxy/iceberg/manifest/manifest_versions.h"

namespace lake::materialize {
namespace {

std::vector<std::string> fields_v3() {
  std::vector<std::string> fields = manifest_file_fields();
  fields.push_back(optional_field("first_row_id", kAvroLong, 520));
  return fields;
}

base::Status check_row_ids(const model::ManifestFile& file) {
  const bool is_data = file.content == model::ManifestContent::kData;
  if (file.first_row_id.has_value() == is_data) return {};
  return base::fail(base::ErrorKind::kInvalid,
                    fmt::format("manifest '{}': {}", file.manifest_path,
                                is_data ? "its rows have no first id" : "deletes have no row ids"));
}

}  // namespace

base::Result<std::string> encode_manifest_list_v3(const ManifestListHeader& header,
                                                  std::span<const model::ManifestFile> manifests,
                                                  base::avro::Codec codec) {
  if (!header.first_row_id) {
    return base::fail(base::ErrorKind::kInvalid, "a manifest list has no first row id");
  }
  base::avro::Metadata metadata = manifest_list_metadata(header, "3");
  metadata.emplace_back("first-row-id", fmt::to_string(*header.first_row_id));
  base::avro::ContainerWriter writer(record_type("manifest_file", fields_v3()), metadata, codec);
  for (const model::ManifestFile& file : manifests) {
    RETURN_IF_ERROR(check_manifest(file));
    RETURN_IF_ERROR(check_row_ids(file));
    put_manifest(writer.encoder(), file);
    put_optional_long(writer.encoder(), file.first_row_id);
    writer.end_datum();
  }
  return std::move(writer).finish();
}

}  // namespace lake::materialize

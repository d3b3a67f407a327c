#include <utility>

#include "lakeproxy/iceberg/manifest/avro_fields.h"
#include "lakeproxy/iceberg/manifest/manifest_versions.h"

namespace lake::materialize {

base::Result<std::string> encode_manifest_list_v2(const ManifestListHeader& header,
                                                  std::span<const model::ManifestFile> manifests,
                                                  base::avro::Codec codec) {
  base::avro::ContainerWriter writer(record_type("manifest_file", manifest_file_fields()),
                                     manifest_list_metadata(header, "2"), codec);
  for (const model::ManifestFile& file : manifests) {
    RETURN_IF_ERROR(check_manifest(file));
    put_manifest(writer.encoder(), file);
    writer.end_datum();
  }
  return std::move(writer).finish();
}

}  // namespace lake::materialize

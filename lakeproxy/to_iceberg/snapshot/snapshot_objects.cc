#include "lakeproxy/to_iceberg/snapshot/snapshot_objects.h"

#include <fmt/format.h>

#include "lakeproxy/derive/plan/content_hash.h"
#include "lakeproxy/iceberg/manifest/header_schema.h"
#include "lakeproxy/iceberg/manifest/manifest_summary.h"
#include "lakeproxy/to_iceberg/snapshot/row_lineage.h"

namespace lake::materialize {
namespace {

using model::ManifestContent;
using model::ManifestEntry;

constexpr auto kCodec = base::avro::Codec::kDeflate;

}  // namespace

SnapshotObjects::SnapshotObjects(const model::LakeTable& table, const model::Snapshot& snapshot,
                                 ManifestHeaders* headers)
    : table_(table),
      snapshot_(snapshot),
      format_(format_version(table.metadata.format_version)),
      headers_(headers) {}

base::Result<ListedManifest> SnapshotObjects::write(std::int32_t spec_id, ManifestContent content,
                                                    std::vector<ManifestEntry> entries) {
  const model::PartitionSpec* spec = table_.metadata.find_spec(spec_id);
  if (spec == nullptr) {
    return base::fail(base::ErrorKind::kCorrupt, fmt::format("no partition spec {}", spec_id));
  }
  ASSIGN_OR_RETURN(model::Schema schema,
                   header_schema(table_.metadata, *spec, snapshot_.schema_id.value()));
  RETURN_IF_ERROR(fit_partitions(schema, *spec, entries));
  model::ManifestHeader header{std::move(schema), *spec,
                               content == ManifestContent::kData
                                   ? model::FileContent::kData
                                   : model::FileContent::kPositionDeletes};
  ASSIGN_OR_RETURN(std::string bytes, format_.encode_manifest(header, entries, kCodec, headers_));
  ASSIGN_OR_RETURN(
      model::ManifestFile file,
      summarize_manifest(header, entries, snapshot_.sequence_number, snapshot_.snapshot_id));
  if (snapshot_.first_row_id && content == ManifestContent::kData) {
    file.first_row_id = lowest_row_id(entries, snapshot_);
  }
  std::string sha256 = content_sha256(bytes);
  file.manifest_path = manifest_location(place(), objects_.size(), hash_in_name(sha256));
  file.manifest_length = static_cast<std::int64_t>(bytes.size());
  objects_.push_back({file.manifest_path, std::move(bytes), std::move(sha256)});
  return ListedManifest{std::move(file),
                        std::make_shared<const std::vector<ManifestEntry>>(std::move(entries))};
}

base::Result<std::string> SnapshotObjects::write_list(const std::vector<ListedManifest>& list) {
  std::vector<model::ManifestFile> files;
  for (const ListedManifest& listed : list) files.push_back(listed.manifest);
  ManifestListHeader header{snapshot_.snapshot_id, snapshot_.parent_snapshot_id,
                            snapshot_.sequence_number, snapshot_.first_row_id};
  ASSIGN_OR_RETURN(std::string bytes, format_.encode_manifest_list(header, files, kCodec));
  std::string sha256 = content_sha256(bytes);
  std::string location = list_location(place(), hash_in_name(sha256));
  objects_.push_back({location, std::move(bytes), std::move(sha256)});
  return location;
}

}  // namespace lake::materialize

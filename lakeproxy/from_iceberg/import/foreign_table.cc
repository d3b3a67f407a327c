#include "lakeproxy/from_iceberg/import/foreign_table.h"

#include <fmt/format.h>

#include "base/gzip/gunzip.h"
#include "base/json/json.h"
#include "base/json/zero_escape.h"
#include "lakeproxy/from_iceberg/files/added_names.h"
#include "lakeproxy/from_iceberg/files/file_places.h"
#include "lakeproxy/from_iceberg/import/foreign_files.h"
#include "lakeproxy/iceberg/metadata/table_metadata_json.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::size_t kMaxMetadataBytes = 64UL * 1024 * 1024;

base::Status check_foreign(const Catalog& catalog, const model::TableMetadata& metadata) {
  RETURN_IF_ERROR(check_foreign_place(catalog, "location", metadata.location));
  for (const auto& [key, value] : metadata.properties) {
    RETURN_IF_ERROR(model::check_property_key(key));
  }
  return {};
}

// Rows keep their ids, and the next ones begin behind them.
base::Status check_row_ids(const model::TableMetadata& metadata,
                           const std::vector<SequencedFile>& files) {
  for (const SequencedFile& file : files) {
    const auto& first = file.added.first_row_id;
    if (!first) continue;
    if (metadata.next_row_id < 0 || *first < 0 || file.added.file.record_count < 0 ||
        *first > metadata.next_row_id - file.added.file.record_count) {
      return fail(ErrorKind::kInvalid,
                  fmt::format("first_row_id: {} and its rows must lie below next-row-id, {}: {}",
                              *first, metadata.next_row_id, file.added.file.file_path));
    }
  }
  return {};
}

std::string summary_json(const model::Snapshot& snapshot) {
  base::json::Object object;
  for (const auto& [key, value] : snapshot.summary) object[key] = value;
  return base::json::write(object);
}

// The history of another catalog is not this lake's.
void forget_history(model::TableMetadata& metadata) {
  metadata.snapshots = {};
  metadata.snapshot_log.clear();
  metadata.metadata_log.clear();
  metadata.refs.clear();
  metadata.statistics.clear();
  metadata.partition_statistics.clear();
  metadata.current_snapshot_id.reset();
  metadata.last_sequence_number = 0;
}

base::Error broken(const base::Error& error) {
  return fail(ErrorKind::kInvalid, "metadata-location: " + error.message());
}

base::Result<model::TableMetadata> parse_metadata(std::string bytes) {
  // Names differ from writer to writer; no JSON begins so.
  if (base::gzip::is_gzip(bytes)) {
    auto unpacked = base::gzip::gunzip(bytes, kMaxMetadataBytes);
    if (!unpacked) return broken(unpacked.error());
    bytes = std::move(*unpacked);
  }
  auto json = base::json::parse(bytes, {.bytes = kMaxMetadataBytes});
  if (!json) return broken(json.error());
  if (base::json::has_zero_escape(bytes)) {
    return fail(ErrorKind::kInvalid,
                "metadata-location: \\u0000 must stand in no name and no text");
  }
  auto metadata = model::table_metadata_from_json(*json);
  if (!metadata && metadata.error().kind() != ErrorKind::kUnsupported) {
    return broken(metadata.error());
  }
  if (!metadata) return std::move(metadata).error().with_context("metadata-location");
  return metadata;
}

}  // namespace

base::Task<base::Result<model::TableMetadata>> read_metadata_file(base::RequestContext context,
                                                                  Catalog* catalog,
                                                                  std::string location) {
  constexpr std::string_view kWhat = "metadata-location";
  CO_RETURN_IF_ERROR(check_foreign_place(*catalog, std::string(kWhat), location));
  // Stored, unpacked, and as values.
  publish::ManifestDecoder& decoder = catalog->manifests->decoder();
  CO_ASSIGN_OR_RETURN(auto share, co_await decoder.budget().take(context, 4 * kMaxMetadataBytes));
  CO_ASSIGN_OR_RETURN(auto key, storage::key_in(catalog->store->bucket(), location));
  auto bytes =
      co_await catalog->store->get_range(context, std::move(key), 0, kMaxMetadataBytes + 1);
  if (!bytes) co_return as_client_fault(std::move(bytes).error(), std::string(kWhat));
  co_return co_await decoder.run(
      [bytes = std::move(*bytes)]() mutable { return parse_metadata(std::move(bytes)); });
}

base::Task<base::Result<ducklake::NewTable>> read_foreign_table(base::RequestContext context,
                                                                Catalog* catalog,
                                                                model::TableIdentifier identifier,
                                                                model::TableMetadata metadata) {
  CO_RETURN_IF_ERROR(check_foreign(*catalog, metadata));
  metadata.location = storage::canonical(metadata.location);
  ducklake::NewTable table{std::move(identifier), {}, {}};
  if (const model::Snapshot* current = metadata.current_snapshot()) {
    ducklake::AddedSnapshot snapshot;
    snapshot.client_snapshot_id = current->snapshot_id;
    snapshot.summary_json = summary_json(*current);
    CO_ASSIGN_OR_RETURN(auto files,
                        co_await read_foreign_files(context, catalog, current->manifest_list));
    CO_ASSIGN_OR_RETURN(const auto places, FilePlaces::of(*catalog, metadata.location));
    for (const auto& file : files.data) {
      CO_RETURN_IF_ERROR(places.check_data_file(file.added.file.file_path));
    }
    for (const auto& file : files.deletes) {
      CO_RETURN_IF_ERROR(places.check_delete_file(file.added.file.file_path));
    }
    CO_RETURN_IF_ERROR(check_row_ids(metadata, files.data));
    std::vector<ducklake::AddedFile*> added;
    for (auto& file : files.data) added.push_back(&file.added);
    CO_RETURN_IF_ERROR(co_await name_columns(context, catalog, &metadata, std::move(added)));
    if (!files.deletes.empty()) {
      CO_ASSIGN_OR_RETURN(snapshot.deletes,
                          co_await convert_foreign_deletes(context, catalog, &metadata, &files));
    }
    for (auto& file : files.data) snapshot.files.push_back(std::move(file.added));
    table.snapshots.push_back(std::move(snapshot));
  }
  forget_history(metadata);
  table.metadata = std::move(metadata);
  co_return table;
}

}  // namespace lake::operation

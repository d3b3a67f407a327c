#include "lakeproxy/operation/foreign_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.h"
#include "base/json/zero_escape.h"
#include "base/runtime/gather.h"
#include "lakeproxy/materialize/manifest/manifest_reader.h"
#include "lakeproxy/model/change/metadata_change.h"
#include "lakeproxy/model/table/table_metadata_json.h"
#include "lakeproxy/objects/location_rules.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::size_t kMaxMetadataBytes = 64UL * 1024 * 1024;
constexpr std::size_t kReadsAtOnce = 16;
constexpr std::size_t kMaxFiles = 500'000;

base::Status check_place(const Catalog& catalog, const std::string& what,
                         const std::string& location) {
  auto place = objects::Location::parse(location);
  auto prefix = objects::Location::parse(catalog.lake.data_path);
  if (place && prefix && objects::is_under(*place, *prefix)) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("{}: must lie under {}: {}", what, catalog.lake.data_path, location));
}

// What is missing or does not parse is the client's fault; the store being away is not.
base::Error as_client_fault(base::Error error, const std::string& what) {
  bool away = error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kTimeout ||
              error.kind() == ErrorKind::kCancelled || error.kind() == ErrorKind::kUnsupported;
  if (away) return std::move(error).with_context(what);
  return fail(ErrorKind::kInvalid, fmt::format("{}: {}", what, error.message()));
}

base::Task<base::Result<materialize::Manifest>> read_manifest(base::RequestContext context,
                                                              Catalog* catalog,
                                                              std::string location) {
  auto bytes = co_await catalog->manifests->bytes(context, location);
  if (!bytes) co_return as_client_fault(std::move(bytes).error(), location);
  auto manifest = materialize::read_manifest(*bytes);
  if (!manifest) co_return as_client_fault(std::move(manifest).error(), location);
  co_return std::move(*manifest);
}

base::Status take_files(const model::ManifestFile& listed, const materialize::Manifest& manifest,
                        std::vector<ducklake::AddedFile>& files) {
  for (const model::ManifestEntry& entry : manifest.entries) {
    if (entry.status == model::EntryStatus::kDeleted) continue;
    if (listed.content != model::ManifestContent::kData) {
      return fail(ErrorKind::kUnsupported,
                  "metadata-location: the table has delete files, which cannot be registered: " +
                      entry.data_file.file_path);
    }
    if (files.size() == kMaxFiles) {
      return fail(ErrorKind::kTooLarge,
                  fmt::format("metadata-location: a table of over {} files", kMaxFiles));
    }
    files.push_back({entry.data_file, listed.partition_spec_id});
  }
  return {};
}

base::Task<base::Result<std::vector<ducklake::AddedFile>>> read_files(base::RequestContext context,
                                                                      Catalog* catalog,
                                                                      std::string list) {
  CO_RETURN_IF_ERROR(check_place(*catalog, "manifest-list", list));
  auto bytes = co_await catalog->manifests->bytes(context, list);
  if (!bytes) co_return as_client_fault(std::move(bytes).error(), list);
  auto manifests = materialize::read_manifest_list(*bytes);
  if (!manifests) co_return as_client_fault(std::move(manifests).error(), list);
  std::vector<ducklake::AddedFile> files;
  for (std::size_t begin = 0; begin < manifests->size(); begin += kReadsAtOnce) {
    std::size_t end = std::min(begin + kReadsAtOnce, manifests->size());
    std::vector<base::Task<base::Result<materialize::Manifest>>> reads;
    for (std::size_t i = begin; i < end; ++i) {
      const std::string& path = (*manifests)[i].manifest_path;
      CO_RETURN_IF_ERROR(check_place(*catalog, "manifest_path", path));
      reads.push_back(read_manifest(context, catalog, path));
    }
    auto read = co_await base::gather(std::move(reads));
    for (std::size_t i = begin; i < end; ++i) {
      if (!read[i - begin]) co_return std::move(read[i - begin]).error();
      CO_RETURN_IF_ERROR(take_files((*manifests)[i], *read[i - begin], files));
    }
  }
  co_return files;
}

base::Status check_foreign(const Catalog& catalog, const model::TableMetadata& metadata) {
  RETURN_IF_ERROR(check_place(catalog, "location", metadata.location));
  if (metadata.format_version != 2) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("format-version: {} cannot be registered", metadata.format_version));
  }
  for (const auto& [key, value] : metadata.properties) {
    RETURN_IF_ERROR(model::check_property_key(key));
  }
  // Such a table may have files that name their columns only.
  if (metadata.properties.contains("schema.name-mapping.default")) {
    return fail(ErrorKind::kUnsupported,
                "schema.name-mapping.default: files without field ids cannot be registered");
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

}  // namespace

base::Task<base::Result<model::TableMetadata>> read_metadata_file(base::RequestContext context,
                                                                  Catalog* catalog,
                                                                  std::string location) {
  constexpr std::string_view kWhat = "metadata-location";
  CO_RETURN_IF_ERROR(check_place(*catalog, std::string(kWhat), location));
  if (location.ends_with(".gz") || location.ends_with(".gz.metadata.json")) {
    co_return fail(ErrorKind::kUnsupported, "metadata-location: a compressed file is not read");
  }
  auto bytes = co_await catalog->manifests->bytes(context, location);
  if (!bytes) co_return as_client_fault(std::move(bytes).error(), std::string(kWhat));
  auto json = base::json::parse(*bytes, {.bytes = kMaxMetadataBytes});
  if (!json) co_return as_client_fault(std::move(json).error(), std::string(kWhat));
  if (base::json::has_zero_escape(*bytes)) {
    co_return fail(ErrorKind::kInvalid,
                   "metadata-location: \\u0000 must stand in no name and no text");
  }
  auto metadata = model::table_metadata_from_json(*json);
  if (!metadata) co_return as_client_fault(std::move(metadata).error(), std::string(kWhat));
  co_return std::move(*metadata);
}

base::Task<base::Result<ducklake::NewTable>> read_foreign_table(base::RequestContext context,
                                                                Catalog* catalog,
                                                                model::TableIdentifier identifier,
                                                                model::TableMetadata metadata) {
  CO_RETURN_IF_ERROR(check_foreign(*catalog, metadata));
  ducklake::NewTable table{std::move(identifier), {}, {}};
  if (const model::Snapshot* current = metadata.current_snapshot()) {
    ducklake::AddedSnapshot snapshot;
    snapshot.client_snapshot_id = current->snapshot_id;
    snapshot.summary_json = summary_json(*current);
    CO_ASSIGN_OR_RETURN(snapshot.files,
                        co_await read_files(context, catalog, current->manifest_list));
    table.snapshots.push_back(std::move(snapshot));
  }
  forget_history(metadata);
  table.metadata = std::move(metadata);
  co_return table;
}

}  // namespace lake::operation

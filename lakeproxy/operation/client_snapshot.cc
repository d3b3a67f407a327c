#include "lakeproxy/operation/client_snapshot.h"

#include <fmt/format.h>

#include <set>

#include "base/json/json.h"
#include "base/runtime/gather.h"
#include "lakeproxy/materialize/manifest_reader.h"
#include "lakeproxy/objects/location_rules.h"

namespace lake::operation {
namespace {

using base::ErrorKind;

constexpr std::string_view kClientIdKey = "lakeproxy-client-snapshot-id";

base::Error not_append(const std::string& why) {
  return base::fail(ErrorKind::kUnsupported, "add-snapshot: only appends are supported: " + why);
}

base::Status check_place(const std::string& text, const std::string& table_location) {
  auto place = objects::Location::parse(text);
  auto table = objects::Location::parse(table_location);
  if (!table) return std::move(table).error();
  if (!place || !objects::is_under(*place, *table)) {
    return base::fail(ErrorKind::kInvalid, "add-snapshot: not under the table's location: " + text);
  }
  return {};
}

// What a client named and the store does not have, or what does not parse, is
// the client's fault; the store being away is not.
base::Error as_client_fault(base::Error error, const std::string& location) {
  if (error.kind() == ErrorKind::kNotFound || error.kind() == ErrorKind::kCorrupt ||
      error.kind() == ErrorKind::kUnsupported) {
    return base::fail(ErrorKind::kInvalid,
                      fmt::format("add-snapshot: {}: {}", location, error.message()));
  }
  return error;
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

std::int64_t live_files(const model::ManifestFile& manifest) {
  return std::int64_t{manifest.added_files_count} + manifest.existing_files_count;
}

struct NewManifests {
  std::vector<model::ManifestFile> added;
  std::int64_t dropped_files = 0;  ///< Live files of ours that the list left out.
};

NewManifests compare(const std::vector<model::ManifestFile>& ours,
                     const std::vector<model::ManifestFile>& given) {
  std::set<std::string> known, kept;
  for (const auto& manifest : ours) known.insert(manifest.manifest_path);
  NewManifests result;
  for (const auto& manifest : given) {
    if (known.contains(manifest.manifest_path)) {
      kept.insert(manifest.manifest_path);
    } else {
      result.added.push_back(manifest);
    }
  }
  for (const auto& manifest : ours) {
    if (!kept.contains(manifest.manifest_path)) result.dropped_files += live_files(manifest);
  }
  return result;
}

// An append may merge manifests of ours into new ones, whose entries are then
// "existing"; every live file must still be there.
base::Status take_entries(const materialize::Manifest& manifest, const model::ManifestFile& file,
                          std::int64_t& existing, std::vector<ducklake::AddedFile>& added) {
  for (const model::ManifestEntry& entry : manifest.entries) {
    switch (entry.status) {
      case model::EntryStatus::kExisting: ++existing; break;
      case model::EntryStatus::kDeleted:
        return not_append("it removes " + entry.data_file.file_path);
      case model::EntryStatus::kAdded:
        if (file.content != model::ManifestContent::kData) {
          return not_append("it adds the delete file " + entry.data_file.file_path);
        }
        added.push_back({entry.data_file, file.partition_spec_id});
        break;
    }
  }
  return {};
}

std::string summary_json(const model::Snapshot& given) {
  base::json::Object object;
  for (const auto& [key, value] : given.summary) object[key] = value;
  object[kClientIdKey] = std::to_string(given.snapshot_id.value);
  return base::json::write(object);
}

}  // namespace

base::Task<base::Result<ClientSnapshot>> read_client_snapshot(base::RequestContext context,
                                                              Catalog* catalog,
                                                              const model::TableMetadata* metadata,
                                                              std::string current_list,
                                                              model::Snapshot given) {
  if (given.operation != model::Operation::kAppend) {
    co_return not_append(fmt::format("summary.operation is {}", to_string(given.operation)));
  }
  CO_RETURN_IF_ERROR(check_place(given.manifest_list, metadata->location));
  std::vector<model::ManifestFile> ours;
  if (!current_list.empty()) {
    CO_ASSIGN_OR_RETURN(auto list, co_await catalog->manifests->list(context, current_list));
    ours = *list;
  }
  auto bytes = co_await catalog->manifests->bytes(context, given.manifest_list);
  if (!bytes) co_return as_client_fault(std::move(bytes).error(), given.manifest_list);
  auto list = materialize::read_manifest_list(*bytes);
  if (!list) co_return as_client_fault(std::move(list).error(), given.manifest_list);
  NewManifests manifests = compare(ours, *list);
  ClientSnapshot snapshot;
  snapshot.added.client_snapshot_id = given.snapshot_id;
  snapshot.added.summary_json = summary_json(given);
  snapshot.objects.push_back(given.manifest_list);
  std::vector<base::Task<base::Result<materialize::Manifest>>> reads;
  for (const auto& file : manifests.added) {
    CO_RETURN_IF_ERROR(check_place(file.manifest_path, metadata->location));
    snapshot.objects.push_back(file.manifest_path);
    reads.push_back(read_manifest(context, catalog, file.manifest_path));
  }
  auto read = co_await base::gather(std::move(reads));
  std::int64_t existing = 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) co_return std::move(read[i]).error();
    CO_RETURN_IF_ERROR(take_entries(*read[i], manifests.added[i], existing, snapshot.added.files));
  }
  if (existing != manifests.dropped_files) {
    co_return not_append(fmt::format("{} live files are not in its manifest list",
                                     manifests.dropped_files - existing));
  }
  co_return snapshot;
}

}  // namespace lake::operation

#include "lakeproxy/from_iceberg/commit/client_snapshot.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/json/json.h"
#include "base/runtime/gather.h"
#include "lakeproxy/derive/plan/metadata_object_names.h"
#include "lakeproxy/from_iceberg/deletes/client_deletes.h"
#include "lakeproxy/from_iceberg/files/added_names.h"
#include "lakeproxy/from_iceberg/files/client_manifests.h"
#include "lakeproxy/from_iceberg/files/file_places.h"
#include "lakeproxy/from_iceberg/files/list_diff.h"
#include "lakeproxy/from_iceberg/files/manifest_budget.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using materialize::ListedManifest;

constexpr std::string_view kClientIdKey = "lakeproxy-client-snapshot-id";

// Of the table's own manifests.
constexpr base::AtOnce kReadsAtOnce{16};

base::Status check_place(const std::string& text, const std::string& table_location) {
  auto place = storage::Location::parse(text);
  auto table = storage::Location::parse(table_location);
  if (!table) return std::move(table).error();
  if (!place || !storage::is_under(*place, *table)) {
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
  if (error.kind() == ErrorKind::kTooLarge || error.kind() == ErrorKind::kInvalid) {
    return std::move(error).with_context("add-snapshot: " + location);
  }
  return error;
}

base::Task<base::Result<ListedManifest>> read_removed_manifest(base::RequestContext context,
                                                               Catalog* catalog,
                                                               model::ManifestFile listed) {
  CO_ASSIGN_OR_RETURN(auto entries,
                      co_await catalog->manifests->entries(context, listed.manifest_path));
  co_return ListedManifest{std::move(listed), std::move(entries)};
}

base::Task<base::Result<std::vector<ListedManifest>>> read_removed_manifests(
    base::RequestContext context, Catalog* catalog, std::vector<model::ManifestFile> manifests) {
  auto read = [&](std::size_t i) {
    return read_removed_manifest(context, catalog, std::move(manifests[i]));
  };
  co_return co_await base::gather_few(kReadsAtOnce, manifests.size(), read);
}

// `share` is kept for as long as what they hold.
base::Task<base::Result<std::vector<ListedManifest>>> read_new_manifests(
    base::RequestContext context, Catalog* catalog, std::vector<model::ManifestFile> new_manifests,
    base::ByteBudget::Share* share) {
  CO_ASSIGN_OR_RETURN(
      auto read, co_await read_client_manifests(context, catalog, new_manifests, as_client_fault));
  *share = std::move(read.share);
  std::vector<ListedManifest> all;
  for (std::size_t i = 0; i < new_manifests.size(); ++i) {
    auto& manifest = read.manifests[i];
    CO_RETURN_IF_ERROR(check_listed(new_manifests[i], manifest.header, manifest.entries));
    auto entries =
        std::make_shared<const std::vector<model::ManifestEntry>>(std::move(manifest.entries));
    all.push_back({std::move(new_manifests[i]), std::move(entries)});
  }
  co_return all;
}

base::Task<base::Result<publish::ManifestList>> base_manifests(base::RequestContext context,
                                                               Catalog* catalog,
                                                               std::string location) {
  if (location.empty()) co_return std::make_shared<const std::vector<model::ManifestFile>>();
  co_return co_await catalog->manifests->list(context, std::move(location));
}

base::Task<base::Result<ManifestSplit>> compare_lists(base::RequestContext context,
                                                      Catalog* catalog,
                                                      const model::TableMetadata* metadata,
                                                      publish::ManifestList base,
                                                      std::string given_list) {
  CO_RETURN_IF_ERROR(check_place(given_list, metadata->location));
  CO_ASSIGN_OR_RETURN(auto given,
                      co_await read_client_list(context, catalog, given_list, as_client_fault));
  CO_RETURN_IF_ERROR(check_once(given));
  ManifestSplit split = split_lists(*base, given);
  for (const auto& manifest : split.new_manifests) {
    CO_RETURN_IF_ERROR(check_place(manifest.manifest_path, metadata->location));
  }
  if (std::cmp_greater(count_entries(split.new_manifests) + count_entries(split.removed_manifests),
                       kMostEntries)) {
    co_return base::fail(ErrorKind::kTooLarge,
                         fmt::format("add-snapshot: its manifests must differ from the table's in "
                                     "at most {} entries; commit in parts",
                                     kMostEntries));
  }
  co_return split;
}

base::Task<base::Result<ListDiff>> read_diff(base::RequestContext context, Catalog* catalog,
                                             model::SnapshotId id, ManifestSplit split,
                                             base::ByteBudget::Share* share) {
  CO_ASSIGN_OR_RETURN(
      auto new_manifests,
      co_await read_new_manifests(context, catalog, std::move(split.new_manifests), share));
  CO_ASSIGN_OR_RETURN(
      auto removed_manifests,
      co_await read_removed_manifests(context, catalog, std::move(split.removed_manifests)));
  co_return diff_lists(id, new_manifests, removed_manifests);
}

void give_spec_ids(const SnapshotBase& on, std::vector<ducklake::AddedFile>& files) {
  for (ducklake::AddedFile& file : files) {
    auto assigned = on.spec_ids.find(file.spec_id);
    if (assigned != on.spec_ids.end()) file.spec_id = assigned->second;
  }
}

bool changes_deletes(const ListDiff& diff) {
  return !diff.added_deletes.empty() || !diff.removed_deletes.empty();
}

base::Status check_diff(const model::Snapshot& given, const ListDiff& diff) {
  RETURN_IF_ERROR(check_summary(given, diff));
  const bool takes = !diff.removed.empty() || changes_deletes(diff);
  if (given.operation == model::Operation::kAppend && takes) {
    return base::fail(
        ErrorKind::kInvalid,
        "add-snapshot: summary.operation is append, but it does not only add data "
        "files: " +
            (!diff.removed.empty()         ? diff.removed.front()
             : !diff.added_deletes.empty() ? diff.added_deletes.front().file.file_path
                                           : diff.removed_deletes.front().file.file_path));
  }
  return {};
}

// Objects that are obsolete after the commit. Not ours to remove is what a client only
// names as its own: what we published, and what the lake's rows, or those of this
// snapshot, name.
base::Task<base::Result<std::vector<std::string>>> obsolete_objects(
    base::RequestContext context, Catalog* catalog, const std::string* table_location,
    std::vector<std::string> metadata, const ListDiff* diff) {
  std::set<std::string> objects;
  for (const auto& location : metadata) objects.insert(storage::canonical(location));
  if (!diff->added_deletes.empty()) {
    std::vector<std::string> deletes;
    for (const auto& added : diff->added_deletes) {
      if (check_place(added.file.file_path, *table_location)) {
        deletes.push_back(storage::canonical(added.file.file_path));
      }
    }
    objects.insert(deletes.begin(), deletes.end());
    CO_ASSIGN_OR_RETURN(auto named, co_await catalog->upkeep->named(context, std::move(deletes)));
    for (const auto& location : named) objects.erase(location);
  }
  for (const auto& added : diff->added) objects.erase(storage::canonical(added.file.file_path));
  const std::string table = storage::canonical(*table_location);
  std::erase_if(objects, [&](const std::string& location) {
    return materialize::is_published_object(location, table);
  });
  co_return std::vector<std::string>(objects.begin(), objects.end());
}

std::string summary_json(const model::Snapshot& given) {
  base::json::Object object;
  for (const auto& [key, value] : given.summary) object[key] = value;
  object["operation"] = to_string(given.operation);
  object[kClientIdKey] = std::to_string(given.snapshot_id.value);
  return base::json::write(object);
}

}  // namespace

base::Task<base::Result<ClientSnapshot>> read_client_snapshot(base::RequestContext context,
                                                              Catalog* catalog, SnapshotBase on,
                                                              model::Snapshot given) {
  CO_ASSIGN_OR_RETURN(auto base, co_await base_manifests(context, catalog, on.list));
  CO_ASSIGN_OR_RETURN(
      auto split, co_await compare_lists(context, catalog, on.metadata, base, given.manifest_list));
  std::vector<std::string> written{given.manifest_list};
  for (const auto& manifest : split.new_manifests) written.push_back(manifest.manifest_path);
  base::ByteBudget::Share share;
  CO_ASSIGN_OR_RETURN(
      auto diff, co_await read_diff(context, catalog, given.snapshot_id, std::move(split), &share));
  give_spec_ids(on, diff.added);
  give_spec_ids(on, diff.added_deletes);
  CO_RETURN_IF_ERROR(check_diff(given, diff));
  CO_ASSIGN_OR_RETURN(const auto places, FilePlaces::of(*catalog, on.metadata->location));
  if (auto placed = places.check(diff.added, diff.added_deletes); !placed) {
    co_return std::move(placed).error().with_context("add-snapshot");
  }
  std::vector<ducklake::AddedFile*> added;
  for (auto& file : diff.added) added.push_back(&file);
  CO_RETURN_IF_ERROR(co_await name_columns(context, catalog, on.metadata, std::move(added)));
  ClientSnapshot snapshot;
  if (on.is_followed || changes_deletes(diff)) on.files->begin(diff);
  if (changes_deletes(diff)) {
    const DeleteBase deletes_on{on.table, on.metadata, base, on.spec_ids, on.is_followed};
    CO_ASSIGN_OR_RETURN(
        auto changes, co_await read_delete_changes(context, catalog, &deletes_on, &diff, on.files));
    CO_ASSIGN_OR_RETURN(
        snapshot.added.deletes,
        co_await convert_deletes(context, catalog, &deletes_on, &changes, on.files));
    on.files->note_deletes(diff);
  }
  CO_ASSIGN_OR_RETURN(snapshot.objects,
                      co_await obsolete_objects(context, catalog, &on.metadata->location,
                                                std::move(written), &diff));
  snapshot.added.client_snapshot_id = given.snapshot_id;
  snapshot.added.files = std::move(diff.added);
  snapshot.added.removed = std::move(diff.removed);
  snapshot.added.summary_json = summary_json(given);
  co_return snapshot;
}

}  // namespace lake::operation

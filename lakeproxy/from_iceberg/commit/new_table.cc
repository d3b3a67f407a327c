#include "lakeproxy/from_iceberg/commit/new_table.h"

#include "lakeproxy/from_iceberg/commit/client_snapshot.h"
#include "lakeproxy/from_iceberg/commit/table_change.h"
#include "lakeproxy/from_iceberg/commit/update_plan.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/operation/catalog/now.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::operation {
namespace {

using base::ErrorKind;

// The updates may ask for any format version; those that ask for none get the
// server's.
std::int32_t first_format_version(const model::TableCommit& commit, std::int32_t by_default) {
  for (const model::TableUpdate& update : commit.updates) {
    if (std::holds_alternative<model::UpgradeFormatVersion>(update)) return 2;
  }
  return by_default;
}

// What every table has before its first update.
model::TableMetadata blank(const base::Clock& clock, std::int32_t format_version) {
  model::TableMetadata metadata;
  metadata.format_version = format_version;
  metadata.last_updated_ms = now_ms(clock);
  metadata.sort_orders.push_back({});
  metadata.current_schema_id = -1;
  metadata.default_spec_id = -1;
  return metadata;
}

base::Error already_there(const model::TableIdentifier& identifier) {
  return base::fail(ErrorKind::kConflict,
                    "Requirement failed: table already exists: " + identifier.display());
}

base::Status check_complete(const model::TableMetadata& metadata) {
  if (metadata.find_schema(metadata.current_schema_id) == nullptr) {
    return base::fail(ErrorKind::kInvalid, "updates: a new table needs a current schema");
  }
  if (metadata.find_spec(metadata.default_spec_id) == nullptr) {
    return base::fail(ErrorKind::kInvalid, "updates: a new table needs a default partition spec");
  }
  return {};
}

// Prefixes are what keys are cut by: no table may lie in another one's folder, nor
// around it. Where the server's own rule puts a table nobody else does, but for one
// that was made with the same UUID and renamed since.
base::Task<base::Status> check_location(base::RequestContext context, Catalog* catalog,
                                        std::string location, std::string name_space) {
  auto place = storage::Location::parse(location);
  auto folder = storage::Location::parse(name_space);
  const bool is_inside = place && folder && storage::is_under(*place, *folder);
  if (is_inside) {
    CO_ASSIGN_OR_RETURN(bool taken,
                        co_await catalog->writer->is_location_taken(context, location, {}));
    if (!taken) co_return base::Status{};
  }
  co_return base::fail(ErrorKind::kInvalid,
                       "set-location: must be the location that the staged table was given, or "
                       "another folder of its own under the namespace's: " +
                           location);
}

}  // namespace

base::Task<base::Result<PreparedTable>> prepare_new_table(base::RequestContext context,
                                                          Catalog* catalog,
                                                          model::TableIdentifier identifier,
                                                          const model::TableCommit* commit) {
  for (const auto& requirement : commit->requirements) {
    CO_RETURN_IF_ERROR(model::check_requirement(nullptr, requirement));
  }
  CO_RETURN_IF_ERROR(model::validate_new_name(identifier.name));
  // Said before anything about the updates; the transaction checks it again.
  auto existing = co_await catalog->reader->find_table(context, identifier);
  if (existing) co_return already_there(identifier);
  if (existing.error().kind() != ErrorKind::kNotFound) co_return std::move(existing).error();
  CO_ASSIGN_OR_RETURN(auto parent,
                      co_await catalog->reader->load_namespace(context, identifier.name_space));
  std::int32_t version = first_format_version(*commit, catalog->default_format_version);
  CO_ASSIGN_OR_RETURN(auto plan,
                      plan_updates(nullptr, blank(*catalog->clock, version), commit->updates));
  CO_RETURN_IF_ERROR(check_complete(plan.after));
  model::TableMetadata& metadata = plan.after;
  if (metadata.table_uuid == base::Uuid{}) {
    metadata.table_uuid = base::make_uuid_v4(*catalog->random);
  }
  if (metadata.location.empty()) {
    metadata.location =
        catalog->writer->new_table_location(parent, identifier.name, metadata.table_uuid);
  }
  CO_RETURN_IF_ERROR(co_await check_location(context, catalog, metadata.location, parent.location));
  PreparedTable prepared{{identifier, metadata, {}}, {}};
  std::string list;
  CommitFiles files;
  for (auto& snapshot : plan.snapshots) {
    const bool is_followed = &snapshot != &plan.snapshots.back();
    SnapshotBase on{nullptr, &metadata, list, &files, is_followed, plan.spec_ids};
    CO_ASSIGN_OR_RETURN(auto read,
                        co_await read_client_snapshot(context, catalog, std::move(on), snapshot));
    list = snapshot.manifest_list;
    prepared.table.snapshots.push_back(std::move(read.added));
    for (auto& object : read.objects) prepared.obsolete_objects.push_back(std::move(object));
  }
  spare_data_files(prepared.table.snapshots, prepared.obsolete_objects);
  co_return prepared;
}

base::Task<base::Result<CommittedTable>> commit_new_table(
    base::RequestContext context, Catalog* catalog, model::TableIdentifier identifier,
    const model::TableCommit* commit, std::optional<model::IdempotencyKey> key) {
  CO_ASSIGN_OR_RETURN(auto prepared,
                      co_await prepare_new_table(context, catalog, identifier, commit));
  co_await ducklake::reached(catalog->steps, ducklake::CommitStep::kPrepared);
  auto created = co_await catalog->writer->keyed(std::move(key))
                     .create_table(context, std::move(prepared.table));
  if (!created && created.error().kind() == ErrorKind::kAlreadyExists &&
      created.error().reason() != ducklake::kNameOfView) {
    co_return already_there(identifier);
  }
  if (!created) co_return std::move(created).error();
  co_return CommittedTable{std::move(*created), std::move(prepared.obsolete_objects)};
}

}  // namespace lake::operation

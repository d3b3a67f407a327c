#include "lakeproxy/iceberg/update/table_update_json.h"

#include <fmt/format.h>

#include <functional>
#include <map>

#include "base/core/text.h"
#include "lakeproxy/iceberg/metadata/snapshot_json.h"
#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Fields;
using base::json::Value;

using Parsed = base::Result<TableUpdate>;

constexpr std::size_t kMaxRefName = 255;

base::Result<std::string> ref_name(const Fields& json) {
  ASSIGN_OR_RETURN(auto name, json.string("ref-name"));
  if (name.empty() || name.size() > kMaxRefName) {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: must have 1 to {} bytes", json.path_of("ref-name"), kMaxRefName));
  }
  return name;
}

base::Result<SnapshotId> snapshot_id(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, json.int64("snapshot-id"));
  return SnapshotId(id);
}

Parsed assign_uuid(const Fields& json) {
  ASSIGN_OR_RETURN(const auto text, json.string("uuid"));
  const auto uuid = base::parse_uuid(text);
  if (!uuid) return fail(ErrorKind::kInvalid, json.path_of("uuid") + ": must be a UUID");
  return AssignUuid{*uuid};
}

Parsed upgrade_format_version(const Fields& json) {
  ASSIGN_OR_RETURN(const auto version, json.int32("format-version"));
  return UpgradeFormatVersion{version};
}

Parsed add_schema(const Fields& json) {
  ASSIGN_OR_RETURN(const auto object, json.object("schema"));
  ASSIGN_OR_RETURN(auto schema, valid_schema_from_json(object));
  return AddSchema{std::move(schema)};
}

Parsed set_current_schema(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, json.int32("schema-id"));
  return SetCurrentSchema{id};
}

Parsed remove_schemas(const Fields& json) {
  ASSIGN_OR_RETURN(auto ids, json.int32s("schema-ids"));
  return RemoveSchemas{std::move(ids)};
}

Parsed add_spec(const Fields& json) {
  ASSIGN_OR_RETURN(const auto object, json.object("spec"));
  ASSIGN_OR_RETURN(auto spec, partition_spec_from_json(object));
  return AddPartitionSpec{std::move(spec)};
}

Parsed set_default_spec(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, json.int32("spec-id"));
  return SetDefaultSpec{id};
}

Parsed remove_partition_specs(const Fields& json) {
  ASSIGN_OR_RETURN(auto ids, json.int32s("spec-ids"));
  return RemovePartitionSpecs{std::move(ids)};
}

Parsed add_sort_order(const Fields& json) {
  ASSIGN_OR_RETURN(const auto object, json.object("sort-order"));
  ASSIGN_OR_RETURN(auto order, sort_order_from_json(object));
  return AddSortOrder{std::move(order)};
}

Parsed set_default_sort_order(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, json.int32("sort-order-id"));
  return SetDefaultSortOrder{id};
}

Parsed add_snapshot(const Fields& json) {
  ASSIGN_OR_RETURN(const auto object, json.object("snapshot"));
  ASSIGN_OR_RETURN(auto snapshot, snapshot_from_json(object));
  return AddSnapshot{std::move(snapshot)};
}

Parsed set_snapshot_ref(const Fields& json) {
  ASSIGN_OR_RETURN(auto name, ref_name(json));
  ASSIGN_OR_RETURN(auto ref, snapshot_ref_from_json(json));
  return SetSnapshotRef{std::move(name), ref};
}

Parsed remove_snapshots(const Fields& json) {
  ASSIGN_OR_RETURN(const auto* ids, json.array("snapshot-ids"));
  RemoveSnapshots out;
  for (std::size_t i = 0; i < ids->size(); ++i) {
    const auto* id = (*ids)[i].if_int64();
    if (id == nullptr) {
      return fail(ErrorKind::kInvalid,
                  fmt::format("{}[{}]: must be an integer", json.path_of("snapshot-ids"), i));
    }
    out.snapshot_ids.emplace_back(*id);
  }
  return out;
}

Parsed remove_snapshot_ref(const Fields& json) {
  ASSIGN_OR_RETURN(auto name, ref_name(json));
  return RemoveSnapshotRef{std::move(name)};
}

Parsed set_location(const Fields& json) {
  ASSIGN_OR_RETURN(auto location, json.string("location"));
  return SetLocation{std::move(location)};
}

Parsed set_properties(const Fields& json) {
  ASSIGN_OR_RETURN(auto updates, json.string_map("updates"));
  return SetProperties{std::move(updates)};
}

Parsed remove_properties(const Fields& json) {
  ASSIGN_OR_RETURN(auto removals, json.strings("removals"));
  return RemoveProperties{std::move(removals)};
}

base::Status check_statistics_file(const Fields& file) {
  RETURN_IF_ERROR(file.int64("snapshot-id"));
  RETURN_IF_ERROR(file.string("statistics-path"));
  RETURN_IF_ERROR(file.int64("file-size-in-bytes"));
  return {};
}

base::Status check_blob(const Fields& blob) {
  RETURN_IF_ERROR(blob.string("type"));
  RETURN_IF_ERROR(blob.int64("snapshot-id"));
  RETURN_IF_ERROR(blob.int64("sequence-number"));
  RETURN_IF_ERROR(blob.int32s("fields"));
  RETURN_IF_ERROR(blob.opt_string_map("properties"));
  return {};
}

// The update's own snapshot-id is deprecated and repeats the file's: not read.
Parsed set_statistics(const Fields& json) {
  ASSIGN_OR_RETURN(const auto file, json.object("statistics"));
  RETURN_IF_ERROR(check_statistics_file(file));
  RETURN_IF_ERROR(file.int64("file-footer-size-in-bytes"));
  ASSIGN_OR_RETURN(const auto blobs, file.objects("blob-metadata"));
  for (const Fields& blob : blobs) RETURN_IF_ERROR(check_blob(blob));
  return SetStatistics{*json.find("statistics")};
}

Parsed remove_statistics(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, snapshot_id(json));
  return RemoveStatistics{id};
}

Parsed set_partition_statistics(const Fields& json) {
  ASSIGN_OR_RETURN(const auto file, json.object("partition-statistics"));
  RETURN_IF_ERROR(check_statistics_file(file));
  return SetPartitionStatistics{*json.find("partition-statistics")};
}

Parsed remove_partition_statistics(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, snapshot_id(json));
  return RemovePartitionStatistics{id};
}

Parsed encryption(const Fields& json) {
  return fail(ErrorKind::kUnsupported,
              json.path_of("action") + ": table encryption is not supported");
}

using Parser = Parsed (*)(const Fields&);

const std::map<std::string_view, Parser, std::less<>>& parsers() {
  static const std::map<std::string_view, Parser, std::less<>> table{
      {"assign-uuid", assign_uuid},
      {"upgrade-format-version", upgrade_format_version},
      {"add-schema", add_schema},
      {"set-current-schema", set_current_schema},
      {"remove-schemas", remove_schemas},
      {"add-spec", add_spec},
      {"set-default-spec", set_default_spec},
      {"remove-partition-specs", remove_partition_specs},
      {"add-sort-order", add_sort_order},
      {"set-default-sort-order", set_default_sort_order},
      {"add-snapshot", add_snapshot},
      {"set-snapshot-ref", set_snapshot_ref},
      {"remove-snapshots", remove_snapshots},
      {"remove-snapshot-ref", remove_snapshot_ref},
      {"set-location", set_location},
      {"set-properties", set_properties},
      {"remove-properties", remove_properties},
      {"set-statistics", set_statistics},
      {"remove-statistics", remove_statistics},
      {"set-partition-statistics", set_partition_statistics},
      {"remove-partition-statistics", remove_partition_statistics},
      {"add-encryption-key", encryption},
      {"remove-encryption-key", encryption},
  };
  return table;
}

}  // namespace

base::Result<TableUpdate> table_update_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto action, json.string("action"));
  const auto parser = parsers().find(action);
  if (parser == parsers().end()) {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: '{}' is not an action on tables", json.path_of("action"), action));
  }
  return parser->second(json);
}

}  // namespace lake::model

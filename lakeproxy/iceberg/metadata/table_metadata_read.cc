// Reading metadata.json that others wrote: nothing in it is trusted, neither
// its shape nor that its ids point anywhere.

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "lakeproxy/iceberg/metadata/snapshot_json.h"
#include "lakeproxy/iceberg/metadata/table_metadata_json.h"
#include "lakeproxy/iceberg/schema/given_id.h"
#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Fields;
using base::json::Value;

constexpr std::int32_t kFirstVersion = 1;
constexpr std::int32_t kLastVersion = 3;

/// Reads each object of an array with `read`; an absent array is empty.
template <class T>
base::Result<std::vector<T>> read_all(const Fields& json, std::string_view key,
                                      base::Result<T> (*read)(const Fields&)) {
  std::vector<T> out;
  if (!json.has(key)) return out;
  ASSIGN_OR_RETURN(const auto objects, json.objects(key));
  out.reserve(objects.size());
  for (const Fields& object : objects) {
    ASSIGN_OR_RETURN(auto value, read(object));
    out.push_back(std::move(value));
  }
  return out;
}

base::Result<SnapshotLogEntry> snapshot_log_entry(const Fields& json) {
  SnapshotLogEntry entry;
  ASSIGN_OR_RETURN(entry.timestamp_ms, json.int64("timestamp-ms"));
  ASSIGN_OR_RETURN(const auto id, json.int64("snapshot-id"));
  entry.snapshot_id = SnapshotId(id);
  return entry;
}

base::Result<MetadataLogEntry> metadata_log_entry(const Fields& json) {
  MetadataLogEntry entry;
  ASSIGN_OR_RETURN(entry.timestamp_ms, json.int64("timestamp-ms"));
  ASSIGN_OR_RETURN(entry.metadata_file, json.string("metadata-file"));
  return entry;
}

base::Result<std::vector<Value>> kept_values(const Fields& json, std::string_view key) {
  std::vector<Value> out;
  ASSIGN_OR_RETURN(const auto* array, json.opt_array(key));
  if (array != nullptr) out.assign(array->begin(), array->end());
  return out;
}

base::Status read_identity(const Fields& json, TableMetadata& table) {
  ASSIGN_OR_RETURN(const auto uuid_text, json.string("table-uuid"));
  const auto uuid = base::parse_uuid(uuid_text);
  if (!uuid) return fail(ErrorKind::kInvalid, "table-uuid: must be a UUID");
  table.table_uuid = *uuid;
  ASSIGN_OR_RETURN(table.location, json.string("location"));
  while (table.location.ends_with('/')) table.location.pop_back();
  ASSIGN_OR_RETURN(table.last_updated_ms, json.int64("last-updated-ms"));
  ASSIGN_OR_RETURN(table.last_column_id, json.int32("last-column-id"));
  ASSIGN_OR_RETURN(table.properties, json.opt_string_map("properties"));
  return {};
}

/// Version 1 may have the current schema alone, as "schema".
base::Status read_schemas(const Fields& json, std::int32_t version, TableMetadata& table) {
  if (version == 1 && !json.has("schemas")) {
    ASSIGN_OR_RETURN(const auto only, json.object("schema"));
    ASSIGN_OR_RETURN(auto schema, schema_from_json(only));
    table.current_schema_id = schema.schema_id;
    table.schemas.push_back(std::move(schema));
    return {};
  }
  ASSIGN_OR_RETURN(table.schemas, read_all<Schema>(json, "schemas", schema_from_json));
  ASSIGN_OR_RETURN(table.current_schema_id, json.int32("current-schema-id"));
  return {};
}

/// Version 1 may have the current spec alone, as the fields "partition-spec".
base::Status read_specs(const Fields& json, std::int32_t version, TableMetadata& table) {
  if (version == 1 && !json.has("partition-specs")) {
    PartitionSpec only;
    if (const Value* fields = json.find("partition-spec")) {
      ASSIGN_OR_RETURN(only.fields, partition_fields_from_json(*fields, "partition-spec"));
    }
    table.partition_specs.push_back(std::move(only));
  } else {
    ASSIGN_OR_RETURN(table.partition_specs,
                     read_all<PartitionSpec>(json, "partition-specs", partition_spec_from_json));
    ASSIGN_OR_RETURN(table.default_spec_id, json.int32("default-spec-id"));
  }
  for (const PartitionSpec& spec : table.partition_specs) {
    for (const PartitionField& field : spec.fields) {
      table.last_partition_id = std::max(table.last_partition_id, field.field_id);
    }
  }
  if (version == 1 && !json.has("last-partition-id")) return {};
  ASSIGN_OR_RETURN(const auto last, json.int32("last-partition-id"));
  // Some writers say 0 or 1 for a table without partition fields.
  table.last_partition_id = std::max(table.last_partition_id, last);
  return {};
}

base::Status read_sort_orders(const Fields& json, std::int32_t version, TableMetadata& table) {
  if (version == 1 && !json.has("sort-orders")) {
    table.sort_orders.push_back(SortOrder{});
    return {};
  }
  ASSIGN_OR_RETURN(table.sort_orders,
                   read_all<SortOrder>(json, "sort-orders", sort_order_from_json));
  ASSIGN_OR_RETURN(table.default_sort_order_id, json.int32("default-sort-order-id"));
  return {};
}

base::Status read_refs(const Fields& json, TableMetadata& table) {
  ASSIGN_OR_RETURN(const auto current, json.opt_int64("current-snapshot-id"));
  if (current && *current != -1) table.current_snapshot_id = SnapshotId(*current);
  ASSIGN_OR_RETURN(const auto refs, json.opt_object("refs"));
  const Value* object = json.find("refs");
  if (refs && object != nullptr) {
    for (const auto& member : object->get_object()) {
      const std::string name(member.key().data(), member.key().size());
      ASSIGN_OR_RETURN(const auto fields, Fields::of(member.value(), refs->path_of(name)));
      ASSIGN_OR_RETURN(auto ref, snapshot_ref_from_json(fields));
      table.refs.emplace(name, ref);
    }
  }
  if (table.current_snapshot_id) {
    table.refs.try_emplace(std::string(kMainBranch),
                           SnapshotRef{.snapshot_id = *table.current_snapshot_id});
  }
  return {};
}

base::Status read_history(const Fields& json, TableMetadata& table) {
  ASSIGN_OR_RETURN(auto snapshots, read_all<Snapshot>(json, "snapshots", snapshot_from_json));
  if (!std::ranges::is_sorted(snapshots, {}, &Snapshot::sequence_number)) {
    std::ranges::sort(snapshots, {}, [](const Snapshot& snapshot) {
      return std::pair(snapshot.sequence_number, snapshot.timestamp_ms);
    });
  }
  table.snapshots = SnapshotList(std::move(snapshots));
  ASSIGN_OR_RETURN(table.snapshot_log,
                   read_all<SnapshotLogEntry>(json, "snapshot-log", snapshot_log_entry));
  ASSIGN_OR_RETURN(table.metadata_log,
                   read_all<MetadataLogEntry>(json, "metadata-log", metadata_log_entry));
  ASSIGN_OR_RETURN(table.statistics, kept_values(json, "statistics"));
  ASSIGN_OR_RETURN(table.partition_statistics, kept_values(json, "partition-statistics"));
  return {};
}

/// Sorted rather than hashed: whoever wrote the file may have chosen ids that meet
/// in one bucket, and there may be hundreds of thousands.
template <class Values, class T, class Id>
std::vector<Id> sorted_ids(const Values& values, Id T::* member) {
  std::vector<Id> ids;
  ids.reserve(values.size());
  for (const T& value : values) ids.push_back(value.*member);
  std::ranges::sort(ids);
  return ids;
}

template <class Values, class T, class Id>
base::Status check_unique(const Values& values, Id T::* member, std::string_view what) {
  const std::vector<Id> ids = sorted_ids(values, member);
  if (std::ranges::adjacent_find(ids) != ids.end()) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: an id is listed twice", what));
  }
  return {};
}

base::Status check_schemas(const TableMetadata& table) {
  RETURN_IF_ERROR(check_unique(table.schemas, &Schema::schema_id, "schemas"));
  for (const Schema& schema : table.schemas) {
    auto status = validate(schema);
    if (!status) {
      return std::move(status).error().with_context(fmt::format("schema {}", schema.schema_id));
    }
    if (schema.max_field_id() > table.last_column_id) {
      return fail(ErrorKind::kInvalid, "last-column-id: must not be below a column's id");
    }
  }
  return {};
}

base::Status check_snapshots(const TableMetadata& table) {
  RETURN_IF_ERROR(check_unique(table.snapshots, &Snapshot::snapshot_id, "snapshots"));
  const auto known = sorted_ids(table.snapshots, &Snapshot::snapshot_id);
  for (const auto& [name, ref] : table.refs) {
    if (!std::ranges::binary_search(known, ref.snapshot_id)) {
      return fail(ErrorKind::kInvalid, fmt::format("refs.{}: snapshot is not listed", name));
    }
  }
  if (!table.current_snapshot_id) return {};
  const auto main = table.refs.find(std::string(kMainBranch));
  if (main->second.snapshot_id != *table.current_snapshot_id) {
    return fail(ErrorKind::kInvalid, "current-snapshot-id: must be the snapshot of main");
  }
  return {};
}

base::Status check_room_for_ids(const TableMetadata& table) {
  for (const Schema& schema : table.schemas) {
    RETURN_IF_ERROR(check_given_id("schemas: schema-id", schema.schema_id));
  }
  for (const PartitionSpec& spec : table.partition_specs) {
    RETURN_IF_ERROR(check_given_id("partition-specs: spec-id", spec.spec_id));
  }
  for (const SortOrder& order : table.sort_orders) {
    RETURN_IF_ERROR(check_given_id("sort-orders: order-id", order.order_id));
  }
  return check_given_id("last-partition-id, or a field-id in partition-specs",
                        table.last_partition_id);
}

base::Status check_links(const TableMetadata& table) {
  RETURN_IF_ERROR(check_room_for_ids(table));
  RETURN_IF_ERROR(check_schemas(table));
  RETURN_IF_ERROR(check_unique(table.partition_specs, &PartitionSpec::spec_id, "partition-specs"));
  RETURN_IF_ERROR(check_unique(table.sort_orders, &SortOrder::order_id, "sort-orders"));
  if (table.find_schema(table.current_schema_id) == nullptr) {
    return fail(ErrorKind::kInvalid, "current-schema-id: schema is not listed");
  }
  if (table.find_spec(table.default_spec_id) == nullptr) {
    return fail(ErrorKind::kInvalid, "default-spec-id: partition spec is not listed");
  }
  if (table.find_sort_order(table.default_sort_order_id) == nullptr) {
    return fail(ErrorKind::kInvalid, "default-sort-order-id: sort order is not listed");
  }
  return check_snapshots(table);
}

base::Status check_readable(const Fields& json, std::int32_t version) {
  if (version < kFirstVersion || version > kLastVersion) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("format-version: {} is not supported", version));
  }
  ASSIGN_OR_RETURN(const auto* keys, json.opt_array("encryption-keys"));
  if (keys != nullptr && !keys->empty()) {
    return fail(ErrorKind::kUnsupported, "encryption-keys: encrypted tables are not supported");
  }
  return {};
}

}  // namespace

base::Result<TableMetadata> table_metadata_from_json(const Value& value) {
  ASSIGN_OR_RETURN(const auto json, Fields::of(value, ""));
  ASSIGN_OR_RETURN(const auto version, json.int32("format-version"));
  RETURN_IF_ERROR(check_readable(json, version));
  TableMetadata table;
  table.format_version = std::max(version, 2);
  RETURN_IF_ERROR(read_identity(json, table));
  if (version > 1) {
    ASSIGN_OR_RETURN(table.last_sequence_number, json.int64("last-sequence-number"));
  }
  if (version > 2) {
    ASSIGN_OR_RETURN(table.next_row_id, json.int64("next-row-id"));
  }
  RETURN_IF_ERROR(read_schemas(json, version, table));
  RETURN_IF_ERROR(read_specs(json, version, table));
  RETURN_IF_ERROR(read_sort_orders(json, version, table));
  RETURN_IF_ERROR(read_refs(json, table));
  RETURN_IF_ERROR(read_history(json, table));
  RETURN_IF_ERROR(check_links(table));
  return table;
}

}  // namespace lake::model

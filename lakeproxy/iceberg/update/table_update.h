#pragma once

// What a commit asks for: the closed set of changes and of conditions of the
// Iceberg REST API, one value type for each.
// Source: Iceberg REST description, "TableUpdate" and "TableRequirement".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"
#include "lakeproxy/model/identifier.h"

namespace lake::model {

struct AssignUuid {
  base::Uuid uuid;
};
struct UpgradeFormatVersion {
  std::int32_t format_version;
};
struct AddSchema {
  Schema schema;
};
/// -1 means the schema added last in the same request.
struct SetCurrentSchema {
  std::int32_t schema_id;
};
struct RemoveSchemas {
  std::vector<std::int32_t> schema_ids;
};
struct AddPartitionSpec {
  PartitionSpec spec;
};
/// -1 means the spec added last in the same request.
struct SetDefaultSpec {
  std::int32_t spec_id;
};
struct RemovePartitionSpecs {
  std::vector<std::int32_t> spec_ids;
};
struct AddSortOrder {
  SortOrder order;
};
/// -1 means the order added last in the same request.
struct SetDefaultSortOrder {
  std::int32_t order_id;
};
struct AddSnapshot {
  Snapshot snapshot;
};
struct SetSnapshotRef {
  std::string name;
  SnapshotRef ref;
};
struct RemoveSnapshots {
  std::vector<SnapshotId> snapshot_ids;
};
struct RemoveSnapshotRef {
  std::string name;
};
struct SetLocation {
  std::string location;
};
struct SetProperties {
  std::map<std::string, std::string> updates;
};
struct RemoveProperties {
  std::vector<std::string> removals;
};
struct SetStatistics {
  base::json::Value statistics;
};
struct RemoveStatistics {
  SnapshotId snapshot_id;
};
struct SetPartitionStatistics {
  base::json::Value statistics;
};
struct RemovePartitionStatistics {
  SnapshotId snapshot_id;
};

using TableUpdate =
    std::variant<AssignUuid, UpgradeFormatVersion, AddSchema, SetCurrentSchema, RemoveSchemas,
                 AddPartitionSpec, SetDefaultSpec, RemovePartitionSpecs, AddSortOrder,
                 SetDefaultSortOrder, AddSnapshot, SetSnapshotRef, RemoveSnapshots,
                 RemoveSnapshotRef, SetLocation, SetProperties, RemoveProperties, SetStatistics,
                 RemoveStatistics, SetPartitionStatistics, RemovePartitionStatistics>;

struct AssertCreate {};
struct AssertTableUuid {
  base::Uuid uuid;
};
/// Nothing: the ref must not exist.
struct AssertRefSnapshotId {
  std::string ref;
  std::optional<SnapshotId> snapshot_id;
};
struct AssertLastAssignedFieldId {
  FieldId last_assigned_field_id;
};
struct AssertCurrentSchemaId {
  std::int32_t current_schema_id;
};
struct AssertLastAssignedPartitionId {
  std::int32_t last_assigned_partition_id;
};
struct AssertDefaultSpecId {
  std::int32_t default_spec_id;
};
struct AssertDefaultSortOrderId {
  std::int32_t default_sort_order_id;
};

using TableRequirement =
    std::variant<AssertCreate, AssertTableUuid, AssertRefSnapshotId, AssertLastAssignedFieldId,
                 AssertCurrentSchemaId, AssertLastAssignedPartitionId, AssertDefaultSpecId,
                 AssertDefaultSortOrderId>;

struct TableCommit {
  std::optional<TableIdentifier> identifier;
  std::vector<TableRequirement> requirements;
  std::vector<TableUpdate> updates;
};

struct CreateTable {
  std::string name;
  std::optional<std::string> location;
  Schema schema;
  std::optional<PartitionSpec> spec;
  std::optional<SortOrder> order;
  bool stage_create = false;
  std::map<std::string, std::string> properties;
};

}  // namespace lake::model

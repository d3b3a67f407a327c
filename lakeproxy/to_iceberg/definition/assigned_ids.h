#pragma once

// The ids of a table's schemas, partition specs and sort orders. Each is assigned
// once and stored: by the commit of the client that adds the definition, or when
// what DuckDB made is first shown. A load takes them from here, and assigns ids only
// to what the lake has besides.
// Source: Iceberg table specification, "Schema Evolution", "Partition Evolution", "Sorting".

#include <cstdint>
#include <map>

#include "lakeproxy/iceberg/schema/partition_spec.h"
#include "lakeproxy/iceberg/schema/schema.h"
#include "lakeproxy/model/ids.h"

namespace lake::ducklake {

/// The rows of lakeproxy_definition and lakeproxy_definition_use of one table.
struct AssignedIds {
  /// By their ids, with the defaults of columns whatever the format version.
  std::map<std::int32_t, model::Schema> schemas;
  std::map<std::int32_t, model::PartitionSpec> specs;
  std::map<std::int32_t, model::SortOrder> orders;
  /// The schema that is current from a lake snapshot on.
  std::map<model::SnapshotId, std::int32_t> schema_at;
  /// The default spec that a client set, from a lake snapshot on.
  std::map<model::SnapshotId, std::int32_t> default_at;
  std::map<std::int64_t, std::int32_t> spec_of_partition;
  std::map<std::int64_t, std::int32_t> spec_of_mapping;

  /// Nothing of the table was shown since ids are stored.
  [[nodiscard]] bool none() const { return schema_at.empty(); }
  friend bool operator==(const AssignedIds&, const AssignedIds&) = default;
};

/// The highest id, or -1.
template <class Definition>
[[nodiscard]] std::int32_t highest_id(const std::map<std::int32_t, Definition>& definitions) {
  return definitions.empty() ? -1 : definitions.rbegin()->first;
}

}  // namespace lake::ducklake

#include "lakeproxy/iceberg/metadata/table_metadata.h"

#include <cstdlib>

namespace lake::model {
namespace {

template <class T, class Id>
const T* find_by(const std::vector<T>& values, Id T::* member, Id id) {
  for (const T& value : values) {
    if (value.*member == id) return &value;
  }
  return nullptr;
}

}  // namespace

const Schema& TableMetadata::current_schema() const {
  const Schema* schema = find_schema(current_schema_id);
  // Every way to make a table sets a current schema; without one nothing can be served.
  if (schema == nullptr) std::abort();
  return *schema;
}

const Schema* TableMetadata::find_schema(std::int32_t id) const {
  return find_by(schemas, &Schema::schema_id, id);
}

const PartitionSpec* TableMetadata::find_spec(std::int32_t id) const {
  return find_by(partition_specs, &PartitionSpec::spec_id, id);
}

bool TableMetadata::shows_schema(std::int32_t id) const {
  return find_schema(id) != nullptr &&
         (id == current_schema_id || !out_of_sight.schemas.contains(id));
}

bool TableMetadata::shows_spec(std::int32_t id) const {
  return find_spec(id) != nullptr && (id == default_spec_id || !out_of_sight.specs.contains(id));
}

const SortOrder* TableMetadata::find_sort_order(std::int32_t id) const {
  return find_by(sort_orders, &SortOrder::order_id, id);
}

const Snapshot* TableMetadata::find_snapshot(SnapshotId id) const { return snapshots.find(id); }

const Snapshot* TableMetadata::current_snapshot() const {
  return current_snapshot_id ? find_snapshot(*current_snapshot_id) : nullptr;
}

}  // namespace lake::model

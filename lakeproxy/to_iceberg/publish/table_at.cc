#include "lakeproxy/to_iceberg/publish/table_at.h"

#include <algorithm>
#include <ranges>

#include "base/json/json.h"

namespace lake::publish {
namespace {

using model::SnapshotId;
using model::TableMetadata;

template <class Fields>
bool has_sources(const model::Schema& schema, const Fields& fields) {
  return std::ranges::all_of(
      fields, [&](const auto& field) { return schema.find(field.source_id) != nullptr; });
}

// The spec without fields, or the newest one that has its columns: the default of then is
// among them.
std::int32_t fitting_spec(const model::LakeTable& table, const TableMetadata& metadata) {
  if (table.unpartitioned_spec_id) return *table.unpartitioned_spec_id;
  for (const model::PartitionSpec& spec : metadata.partition_specs | std::views::reverse) {
    if (has_sources(metadata.current_schema(), spec.fields)) return spec.spec_id;
  }
  return metadata.default_spec_id;
}

}  // namespace

void fit_defaults(const model::LakeTable& table, TableMetadata& metadata) {
  const model::Schema& schema = metadata.current_schema();
  const auto* spec = metadata.find_spec(metadata.default_spec_id);
  if (spec != nullptr && !has_sources(schema, spec->fields)) {
    metadata.default_spec_id = fitting_spec(table, metadata);
  }
  const auto* order = metadata.find_sort_order(metadata.default_sort_order_id);
  if (order != nullptr && !has_sources(schema, order->fields)) metadata.default_sort_order_id = 0;
}

namespace {

void keep_up_to(SnapshotId last, TableMetadata& metadata) {
  model::SnapshotList kept;
  for (const model::SnapshotPtr& snapshot : metadata.snapshots.items()) {
    kept.push_back(snapshot);
    if (snapshot->snapshot_id == last) break;
  }
  metadata.snapshots = std::move(kept);
  std::erase_if(metadata.snapshot_log, [&](const auto& entry) {
    return metadata.find_snapshot(entry.snapshot_id) == nullptr;
  });
  drop_dangling(metadata);
}

}  // namespace

std::optional<SnapshotId> find_snapshot(const LoadedTable& loaded, SnapshotId id) {
  if (loaded.metadata.find_snapshot(id) != nullptr) return id;
  auto alias = loaded.table.aliases.find(id.value);
  if (alias == loaded.table.aliases.end()) return std::nullopt;
  if (loaded.metadata.find_snapshot(alias->second) == nullptr) return std::nullopt;
  return alias->second;
}

TableMetadata metadata_at(const LoadedTable& loaded, SnapshotId id) {
  TableMetadata metadata = loaded.metadata;
  keep_up_to(id, metadata);
  const model::Snapshot& snapshot = metadata.snapshots.back();
  metadata.current_snapshot_id = id;
  metadata.refs[std::string(model::kMainBranch)].snapshot_id = id;
  metadata.last_sequence_number = snapshot.sequence_number;
  metadata.last_updated_ms = snapshot.timestamp_ms;
  if (snapshot.schema_id && metadata.find_schema(*snapshot.schema_id) != nullptr) {
    metadata.current_schema_id = *snapshot.schema_id;
  }
  fit_defaults(loaded.table, metadata);
  return metadata;
}

std::string body_at(const LoadedTable& loaded, SnapshotId snapshot,
                    model::SnapshotSelection selection) {
  std::string body = R"({"metadata-location":)";
  base::json::append_quoted(body, loaded.metadata_location);
  body += R"(,"metadata":)" + model::write_metadata(metadata_at(loaded, snapshot), selection);
  return body;
}

}  // namespace lake::publish

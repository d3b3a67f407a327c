#include "lakeproxy/iceberg/metadata/table_metadata_parts.h"

#include <fmt/format.h>

#include <iterator>
#include <unordered_set>

#include "base/core/text.h"
#include "lakeproxy/iceberg/metadata/snapshot_json.h"
#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::model {
namespace {

constexpr auto kAll = [](const auto&) { return true; };

template <class T, class Shown = decltype(kAll)>
void write_array(MemberWriter& json, std::string_view name, const std::vector<T>& values,
                 Shown is_shown = kAll) {
  json.name(name);
  std::string& out = json.out();
  out += '[';
  bool first = true;
  for (const T& value : values) {
    if (!is_shown(value)) continue;
    if (!first) out += ',';
    first = false;
    if constexpr (std::same_as<T, JsonText>) {
      out += *value;
    } else if constexpr (std::same_as<T, base::json::Value>) {
      base::json::append(out, value);
    } else {
      base::json::append(out, to_json(value));
    }
  }
  out += ']';
}

void write_schemas(MemberWriter& json, const TableMetadata& table) {
  write_array(json, "schemas", table.schemas,
              [&](const Schema& schema) { return table.shows_schema(schema.schema_id); });
}

void write_specs(MemberWriter& json, const TableMetadata& table) {
  write_array(json, "partition-specs", table.partition_specs,
              [&](const PartitionSpec& spec) { return table.shows_spec(spec.spec_id); });
}

void write_properties(MemberWriter& json, const TableMetadata& table) {
  json.name("properties");
  MemberWriter properties(json.out());
  for (const auto& [key, value] : table.properties) properties.string(key, value);
  properties.end();
}

void write_refs(MemberWriter& json, const TableMetadata& table) {
  json.name("refs");
  MemberWriter refs(json.out());
  for (const auto& [name, ref] : table.refs) refs.value(name, to_json(ref));
  refs.end();
}

void write_snapshots(MemberWriter& json, const TableMetadata& table,
                     const MetadataFragments& fragments, SnapshotSelection selection) {
  std::unordered_set<SnapshotId> wanted;
  if (table.current_snapshot_id) wanted.insert(*table.current_snapshot_id);
  for (const auto& [name, ref] : table.refs) wanted.insert(ref.snapshot_id);
  json.name("snapshots");
  std::string& out = json.out();
  out += '[';
  bool first = true;
  for (const SnapshotFragment& snapshot : fragments.snapshots) {
    if (selection == SnapshotSelection::kRefs && !wanted.contains(snapshot.snapshot_id)) continue;
    if (!first) out += ',';
    first = false;
    out += *snapshot.text;
  }
  out += ']';
}

}  // namespace

void MemberWriter::name(std::string_view name) {
  if (!first_) out_ += ',';
  first_ = false;
  base::json::append_quoted(out_, name);
  out_ += ':';
}

void MemberWriter::number(std::string_view name, std::int64_t value) {
  this->name(name);
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void MemberWriter::null(std::string_view name) {
  this->name(name);
  out_ += "null";
}

void MemberWriter::string(std::string_view name, std::string_view value) {
  this->name(name);
  base::json::append_quoted(out_, value);
}

void MemberWriter::value(std::string_view name, const base::json::Value& value) {
  this->name(name);
  base::json::append(out_, value);
}

void write_head(MemberWriter& json, const TableMetadata& table) {
  json.number("format-version", table.format_version);
  json.string("table-uuid", base::to_string(table.table_uuid));
  json.string("location", table.location);
  json.number("last-sequence-number", table.last_sequence_number);
  json.number("last-updated-ms", table.last_updated_ms);
  json.number("last-column-id", table.last_column_id);
  json.number("current-schema-id", table.current_schema_id);
  write_schemas(json, table);
  json.number("default-spec-id", table.default_spec_id);
  write_specs(json, table);
  json.number("last-partition-id", table.last_partition_id);
  json.number("default-sort-order-id", table.default_sort_order_id);
  write_array(json, "sort-orders", table.sort_orders);
  write_properties(json, table);
}

void write_tail(MemberWriter& json, const TableMetadata& table, const MetadataFragments& fragments,
                SnapshotSelection selection) {
  write_refs(json, table);
  write_snapshots(json, table, fragments, selection);
  write_array(json, "statistics", table.statistics);
  write_array(json, "partition-statistics", table.partition_statistics);
  write_array(json, "snapshot-log", fragments.snapshot_log);
  write_array(json, "metadata-log", fragments.metadata_log);
}

}  // namespace lake::model

// Any JSON as what a client sends to make or change a table or a view: a change that is refused
// leaves the table as it was, and one that is taken leaves a table that can be written and read.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/table_metadata_json.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/iceberg/update/table_update_json.h"
#include "lakeproxy/iceberg/view/view_change.h"
#include "lakeproxy/iceberg/view/view_json.h"
#include "lakeproxy/iceberg/view/view_update_json.h"

namespace {

using namespace lake::model;  // NOLINT: this file is about nothing else.
namespace json = base::json;

void require(bool holds) {
  if (!holds) std::abort();
}

// The changes that need no lake, as a commit makes them.
class Updater {
 public:
  explicit Updater(TableMetadata& table) : table_(table) {}

  base::Status operator()(const AddSchema& one) {
    ASSIGN_OR_RETURN(schema_, add_schema(table_, one.schema, SchemaCheck::kEvolution));
    return {};
  }
  base::Status operator()(const SetCurrentSchema& one) {
    ASSIGN_OR_RETURN(const auto id, resolve_last_added(one.schema_id, schema_, "schema"));
    return set_current_schema(table_, id);
  }
  base::Status operator()(const RemoveSchemas& one) {
    return remove_schemas(table_, one.schema_ids);
  }
  base::Status operator()(const AddPartitionSpec& one) {
    ASSIGN_OR_RETURN(spec_, add_spec(table_, one.spec));
    return {};
  }
  base::Status operator()(const SetDefaultSpec& one) {
    ASSIGN_OR_RETURN(const auto id, resolve_last_added(one.spec_id, spec_, "spec"));
    return set_default_spec(table_, id);
  }
  base::Status operator()(const RemovePartitionSpecs& one) {
    return remove_specs(table_, one.spec_ids, 1);
  }
  base::Status operator()(const AddSortOrder& one) {
    ASSIGN_OR_RETURN(order_, add_sort_order(table_, one.order));
    return {};
  }
  base::Status operator()(const SetDefaultSortOrder& one) {
    ASSIGN_OR_RETURN(const auto id, resolve_last_added(one.order_id, order_, "order"));
    return set_default_sort_order(table_, id);
  }
  base::Status operator()(const RemoveSnapshots& one) {
    return remove_snapshots(table_, {one.snapshot_ids.begin(), one.snapshot_ids.end()});
  }
  base::Status operator()(const UpgradeFormatVersion& one) {
    return set_format_version(table_, one.format_version);
  }
  base::Status operator()(const SetProperties& one) { return set_properties(table_, one.updates); }
  base::Status operator()(const RemoveProperties& one) {
    return remove_properties(table_, one.removals);
  }
  base::Status operator()(const auto&) { return {}; }

 private:
  TableMetadata& table_;
  std::optional<std::int32_t> schema_, spec_, order_;
};

void check_readable(const TableMetadata& table) {
  const std::string written = write_metadata(table);
  const auto value = json::parse(written);
  require(value.has_value());
  const auto again = table_metadata_from_json(*value);
  require(again && write_metadata(*again) == written);
}

void apply(TableMetadata table, const TableCommit& commit) {
  for (const auto& requirement : commit.requirements) {
    (void)check_requirement(&table, requirement);
    (void)check_requirement(nullptr, requirement);
  }
  Updater updater(table);
  for (const TableUpdate& update : commit.updates) {
    const std::string before = write_metadata(table);
    if (!std::visit(updater, update)) require(write_metadata(table) == before);
  }
  if (check_default_columns(table)) check_readable(table);
}

const TableMetadata& sample() {
  static const TableMetadata table = [] {
    const auto body = json::parse(R"json({"name": "t", "schema": {"type": "struct", "fields": [
      {"id": 1, "name": "id", "type": "int", "required": true},
      {"id": 2, "name": "at", "type": "timestamp", "required": false},
      {"id": 3, "name": "price", "type": "decimal(9, 2)", "required": false},
      {"id": 4, "name": "s", "required": false, "type": {"type": "struct", "fields": [
        {"id": 5, "name": "f", "type": "float", "required": false}]}},
      {"id": 6, "name": "l", "required": false, "type":
        {"type": "list", "element-id": 7, "element": "int", "element-required": false}}]},
      "partition-spec": {"spec-id": 0, "fields":
        [{"source-id": 2, "field-id": 1000, "name": "at_day", "transform": "day"}]}})json");
    const auto request = create_table_from_json(body.value());
    return new_table(with_fresh_ids(request.value()).value(),
                     {.uuid = {1}, .location = "s3://b/t", .now_ms = 5})
        .value();
  }();
  return table;
}

void check_created(const json::Value& body) {
  auto request = create_table_from_json(body);
  if (!request) return;
  const auto fresh = with_fresh_ids(*std::move(request));
  if (!fresh) return;
  const auto table = new_table(*fresh, {.uuid = {2}, .location = "s3://b/u", .now_ms = 6});
  if (table && check_default_columns(*table)) check_readable(*table);
}

void check_views(const json::Value& body) {
  if (const auto request = create_view_from_json(body)) {
    const auto view = new_view(*request, {.uuid = {3}, .location = "s3://b/v"});
    if (view) require(view_metadata_from_json(to_json(*view)).has_value());
  }
  static const ViewMetadata before = [] {
    const auto view = json::parse(R"({"name": "v", "schema": {"type": "struct", "fields": [
      {"id": 1, "name": "id", "type": "int", "required": false}]}, "properties": {},
      "view-version": {"version-id": 1, "timestamp-ms": 5, "schema-id": 0, "summary": {},
       "default-namespace": ["n"], "representations": [{"type": "sql", "sql": "SELECT 1 AS id", "dialect": "spark"}]}})");
    return new_view(create_view_from_json(view.value()).value(),
                    {.uuid = {3}, .location = "s3://b/v"})
        .value();
  }();
  const auto commit = view_commit_from_json(body);
  if (!commit) return;
  const auto after = change_view(before, commit->updates, 7);
  if (after) require(view_metadata_from_json(to_json(*after)).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto body = json::parse(text, {.bytes = 1 << 16, .depth = 64, .values = 10'000});
  if (!body) return 0;
  check_created(*body);
  check_views(*body);
  if (const auto commit = table_commit_from_json(*body)) apply(sample(), *commit);
  if (const auto commits = transaction_from_json(*body)) {
    for (const TableCommit& commit : *commits) {
      require(commit.identifier.has_value());
      apply(sample(), commit);
    }
  }
  return 0;
}

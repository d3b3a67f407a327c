#include <fmt/format.h>

#include <functional>
#include <map>

#include "base/core/text.h"
#include "lakeproxy/iceberg/update/table_update_json.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Fields;

using Parsed = base::Result<TableRequirement>;

Parsed assert_create(const Fields& /*json*/) { return AssertCreate{}; }

Parsed assert_table_uuid(const Fields& json) {
  ASSIGN_OR_RETURN(const auto text, json.string("uuid"));
  const auto uuid = base::parse_uuid(text);
  if (!uuid) return fail(ErrorKind::kInvalid, json.path_of("uuid") + ": must be a UUID");
  return AssertTableUuid{*uuid};
}

// Some clients leave a null member out altogether; both say "does not exist".
Parsed assert_ref_snapshot_id(const Fields& json) {
  ASSIGN_OR_RETURN(auto ref, json.string("ref"));
  ASSIGN_OR_RETURN(const auto id, json.opt_int64("snapshot-id"));
  AssertRefSnapshotId out{std::move(ref), std::nullopt};
  if (id) out.snapshot_id = SnapshotId(*id);
  return out;
}

Parsed assert_last_assigned_field_id(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, json.int32("last-assigned-field-id"));
  return AssertLastAssignedFieldId{id};
}

Parsed assert_current_schema_id(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, json.int32("current-schema-id"));
  return AssertCurrentSchemaId{id};
}

Parsed assert_last_assigned_partition_id(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, json.int32("last-assigned-partition-id"));
  return AssertLastAssignedPartitionId{id};
}

Parsed assert_default_spec_id(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, json.int32("default-spec-id"));
  return AssertDefaultSpecId{id};
}

Parsed assert_default_sort_order_id(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, json.int32("default-sort-order-id"));
  return AssertDefaultSortOrderId{id};
}

using Parser = Parsed (*)(const Fields&);

const std::map<std::string_view, Parser, std::less<>>& parsers() {
  static const std::map<std::string_view, Parser, std::less<>> table{
      {"assert-create", assert_create},
      {"assert-table-uuid", assert_table_uuid},
      {"assert-ref-snapshot-id", assert_ref_snapshot_id},
      {"assert-last-assigned-field-id", assert_last_assigned_field_id},
      {"assert-current-schema-id", assert_current_schema_id},
      {"assert-last-assigned-partition-id", assert_last_assigned_partition_id},
      {"assert-default-spec-id", assert_default_spec_id},
      {"assert-default-sort-order-id", assert_default_sort_order_id},
  };
  return table;
}

}  // namespace

base::Result<TableRequirement> table_requirement_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto type, json.string("type"));
  const auto parser = parsers().find(type);
  if (parser == parsers().end()) {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: '{}' is not a requirement of tables", json.path_of("type"), type));
  }
  return parser->second(json);
}

}  // namespace lake::model

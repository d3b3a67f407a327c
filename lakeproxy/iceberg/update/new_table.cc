#include <fmt/format.h>

#include <unordered_map>

#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;

constexpr const char* kFormatVersion = "format-version";

/// Old id to new id: both schemas have the same shape.
std::unordered_map<FieldId, FieldId> renumbering(const Schema& from, const Schema& to) {
  std::vector<FieldId> fresh;
  visit_fields(to.fields, [&](const Field& field) { fresh.push_back(field.id); });
  std::unordered_map<FieldId, FieldId> out;
  std::size_t i = 0;
  visit_fields(from.fields, [&](const Field& field) { out.emplace(field.id, fresh[i++]); });
  return out;
}

/// Works for partition fields and sort fields.
template <class T>
base::Status renumber(std::vector<T>& fields, const std::unordered_map<FieldId, FieldId>& fresh_of,
                      std::string_view what) {
  for (T& field : fields) {
    const auto found = fresh_of.find(field.source_id);
    if (found == fresh_of.end()) {
      return fail(ErrorKind::kInvalid,
                  fmt::format("{}: no column with id {}", what, field.source_id));
    }
    field.source_id = found->second;
  }
  return {};
}

base::Status set_layout(TableMetadata& table, const CreateTable& request) {
  PartitionSpec spec = request.spec.value_or(PartitionSpec{});
  // A new table numbers its partition fields itself.
  for (PartitionField& field : spec.fields) field.field_id = 0;
  ASSIGN_OR_RETURN(table.default_spec_id, add_spec(table, std::move(spec)));
  ASSIGN_OR_RETURN(table.default_sort_order_id,
                   add_sort_order(table, request.order.value_or(SortOrder{})));
  return {};
}

}  // namespace

base::Result<std::optional<std::int32_t>> requested_format_version(const CreateTable& request) {
  const auto found = request.properties.find(kFormatVersion);
  if (found == request.properties.end()) return std::optional<std::int32_t>();
  if (found->second == "2") return std::optional<std::int32_t>(2);
  if (found->second == "3") return std::optional<std::int32_t>(3);
  return fail(ErrorKind::kInvalid, "properties.format-version: must be 2 or 3");
}

base::Result<CreateTable> with_fresh_ids(CreateTable request) {
  Schema fresh = with_fresh_ids(request.schema);
  const auto fresh_of = renumbering(request.schema, fresh);
  if (request.spec) {
    RETURN_IF_ERROR(renumber(request.spec->fields, fresh_of, "partition-spec"));
  }
  if (request.order) RETURN_IF_ERROR(renumber(request.order->fields, fresh_of, "write-order"));
  request.schema = std::move(fresh);
  return request;
}

base::Result<TableMetadata> new_table(const CreateTable& request, const NewTable& decided) {
  ASSIGN_OR_RETURN(auto fresh, with_fresh_ids(request));
  TableMetadata table;
  table.table_uuid = decided.uuid;
  table.location = decided.location;
  table.last_updated_ms = decided.now_ms;
  ASSIGN_OR_RETURN(const auto requested, requested_format_version(request));
  table.format_version = requested.value_or(decided.format_version);
  ASSIGN_OR_RETURN(table.current_schema_id,
                   add_schema(table, std::move(fresh.schema), SchemaCheck::kReplacement));
  RETURN_IF_ERROR(set_layout(table, fresh));
  fresh.properties.erase(kFormatVersion);
  RETURN_IF_ERROR(set_properties(table, fresh.properties));
  if (requested) {
    table.properties.emplace(kFormatVersionProperty, std::to_string(table.format_version));
  }
  return table;
}

}  // namespace lake::model

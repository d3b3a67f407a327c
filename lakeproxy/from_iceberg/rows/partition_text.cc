#include "lakeproxy/from_iceberg/rows/partition_text.h"

#include "base/json/json.h"
#include "lakeproxy/iceberg/manifest/header_schema.h"
#include "lakeproxy/iceberg/schema/civil_date.h"
#include "lakeproxy/iceberg/schema/literal_json.h"
#include "lakeproxy/mapping/lake_text.h"

namespace lake::ducklake {
namespace {

std::int32_t floor_mod(std::int32_t value, std::int32_t by) {
  std::int32_t rest = value % by;
  return rest < 0 ? rest + by : rest;
}

std::string calendar_part(model::TransformKind kind, std::int32_t value) {
  switch (kind) {
    case model::TransformKind::kYear: return std::to_string(1970 + value);
    case model::TransformKind::kMonth: return std::to_string(floor_mod(value, 12) + 1);
    case model::TransformKind::kDay: return std::to_string(model::civil_from_days(value).day);
    case model::TransformKind::kHour: return std::to_string(floor_mod(value, 24));
    default: return std::to_string(value);  // The number of a bucket.
  }
}

}  // namespace

const model::Field* find_source(const model::TableMetadata& table, model::FieldId source_id) {
  if (const model::Field* field = table.current_schema().find(source_id)) return field;
  for (const model::Schema& schema : table.schemas) {
    if (const model::Field* field = schema.find(source_id)) return field;
  }
  return nullptr;
}

base::Result<CheckedPartition> check_partition(const model::PartitionSpec& spec,
                                               const model::PartitionTuple& given,
                                               const model::TableMetadata& table) {
  auto schema = materialize::header_schema(table, spec, table.current_schema_id);
  if (!schema) return base::fail(base::ErrorKind::kInvalid, schema.error().message());
  CheckedPartition checked;
  ASSIGN_OR_RETURN(checked.columns, materialize::partition_columns(*schema, spec));
  checked.tuple = given;
  materialize::fit_partition(checked.columns, checked.tuple);
  RETURN_IF_ERROR(materialize::check_partition(checked.columns, checked.tuple));
  return checked;
}

std::string to_json(const CheckedPartition& partition) {
  base::json::Array array;
  for (std::size_t i = 0; i < partition.tuple.size(); ++i) {
    if (partition.tuple[i]) {
      array.push_back(model::to_json(*partition.tuple[i], partition.columns[i].type));
    } else {
      array.emplace_back(nullptr);
    }
  }
  return base::json::write(array);
}

std::optional<std::string> lake_partition_text(const model::PartitionField& field,
                                               const std::optional<model::Literal>& value,
                                               const model::TableMetadata& table,
                                               TimeNumber number) {
  if (!value) return std::nullopt;
  if (field.transform.kind != model::TransformKind::kIdentity) {
    const auto counted = std::get<std::int32_t>(*value);
    return number == TimeNumber::kSince1970 ? std::to_string(counted)
                                            : calendar_part(field.transform.kind, counted);
  }
  const model::Field* source = find_source(table, field.source_id);
  if (source == nullptr) return std::nullopt;
  return model::to_lake_text(source->type, *value);
}

}  // namespace lake::ducklake

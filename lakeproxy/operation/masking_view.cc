#include "lakeproxy/operation/masking_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/crypto/digest.h"
#include "base/duckdb/sql_text.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/model/server_folder.h"
#include "lakeproxy/operation/spark_sql.h"
#include "lakeproxy/to_iceberg/masked/mask_marks.h"

namespace lake::operation {
namespace {

using base::duckdb::quote_identifier;

const policy::ColumnMask* mask_of(const policy::MaskPlan& plan, const model::Field& field) {
  auto found = std::ranges::find(plan.masks, field.id, &policy::ColumnMask::field);
  return found == plan.masks.end() ? nullptr : &*found;
}

std::string select(std::string_view columns, std::string_view from, std::string_view filter) {
  return fmt::format("SELECT {} FROM {}{}{}", columns, from, filter.empty() ? "" : " WHERE ",
                     filter);
}

// Nothing: a mask or a filter is not the same there.
std::optional<std::string> spark_query(const policy::MaskPlan& plan, const model::Schema& schema,
                                       std::string_view table) {
  std::string columns;
  for (const model::Field& field : schema.fields) {
    const std::string name = quote_for_spark(field.name);
    columns += columns.empty() ? "" : ", ";
    const policy::ColumnMask* mask = mask_of(plan, field);
    if (mask == nullptr) {
      columns += name;
      continue;
    }
    const auto expression = in_spark(mask->expression, schema);
    if (!expression) return std::nullopt;
    columns += fmt::format("{} AS {}", *expression, name);
  }
  std::string filter;
  for (const policy::RowFilter& one : plan.filters) {
    const auto predicate = in_spark(one.predicate, schema);
    if (!predicate) return std::nullopt;
    filter += fmt::format("{}({})", filter.empty() ? "" : " AND ", *predicate);
  }
  // Of the view's default namespace: a level in front might be the name of another catalog there.
  std::string query = select(columns, quote_for_spark(table), filter);
  // Spark puts variables in, also between quotes.
  if (query.contains("${")) return std::nullopt;
  return query;
}

// The columns as the view gives them: a mask may give NULL for any value.
model::Schema shown_schema(const policy::MaskPlan& plan, const model::Schema& schema) {
  model::Schema shown{.schema_id = 0, .fields = schema.fields, .identifier_field_ids = {}};
  for (model::Field& field : shown.fields) {
    field.initial_default.reset();
    field.write_default.reset();
    const policy::ColumnMask* mask = mask_of(plan, field);
    if (mask == nullptr) continue;
    field.required = false;
    masked::note_mask(*mask, field);
  }
  return shown;
}

// Version 8 of RFC 9562: of bytes that are ours to choose.
base::Uuid uuid_of(const base::Uuid& table, std::string_view signature) {
  const auto digest = base::crypto::sha256(fmt::format("{} {}", base::to_string(table), signature));
  base::Uuid uuid{};
  std::ranges::copy_n(digest.begin(), uuid.size(), uuid.begin());
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0F) | 0x80);
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3F) | 0x80);
  return uuid;
}

}  // namespace

std::string mask_projection(const policy::MaskPlan& plan, const model::Schema& schema) {
  std::string columns;
  for (const model::Field& field : schema.fields) {
    const std::string name = quote_identifier(field.name);
    const policy::ColumnMask* mask = mask_of(plan, field);
    columns += columns.empty() ? "" : ", ";
    columns += mask == nullptr ? name : fmt::format("{} AS {}", mask->expression, name);
  }
  return columns;
}

std::string masking_query(const policy::MaskPlan& plan, const model::Schema& schema,
                          std::string_view from) {
  return select(mask_projection(plan, schema), from, policy::row_filter_of(plan));
}

std::string duckdb_name(const model::TableIdentifier& identifier) {
  return fmt::format("{}.{}", quote_identifier(ducklake::flat_schema_name(identifier.name_space)),
                     quote_identifier(identifier.name));
}

model::ViewMetadata masking_view(const publish::LoadedTable& loaded,
                                 const model::TableIdentifier& identifier,
                                 const policy::MaskPlan& plan) {
  const model::TableMetadata& table = loaded.metadata;
  const model::Schema& schema = table.current_schema();
  model::ViewVersion version;
  version.summary = {{"engine-name", "lakeproxy"}};
  version.default_namespace = identifier.name_space.levels;
  version.representations.push_back(
      {masking_query(plan, schema, duckdb_name(identifier)), "duckdb"});
  if (auto spark = spark_query(plan, schema, identifier.name)) {
    version.representations.push_back({std::move(*spark), "spark"});
  }
  model::ViewMetadata view;
  view.view_uuid = uuid_of(table.table_uuid, plan.signature);
  view.location = model::server_folder(table.location) + "masking_views/" + plan.signature;
  view.current_version_id = version.version_id;
  // When it was made is nobody's to say: it follows from the policies.
  view.version_log = {{version.timestamp_ms, version.version_id}};
  view.versions = {std::move(version)};
  view.schemas = {shown_schema(plan, schema)};
  return view;
}

}  // namespace lake::operation

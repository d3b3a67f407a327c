#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::model {

using base::ErrorKind;
using base::fail;

base::Result<std::int32_t> resolve_last_added(std::int32_t id,
                                              std::optional<std::int32_t> last_added,
                                              std::string_view what) {
  if (id != kLastAdded) return id;
  if (last_added) return *last_added;
  return fail(ErrorKind::kInvalid,
              fmt::format("{} -1 means the last one added, and this request adds none", what));
}

base::Result<std::int32_t> add_schema(TableMetadata& table, Schema schema, SchemaCheck check) {
  RETURN_IF_ERROR(validate(schema));
  std::int32_t next_id = 0;
  for (const Schema& known : table.schemas) {
    if (known.same_columns(schema)) {
      table.out_of_sight.schemas.erase(known.schema_id);
      return known.schema_id;
    }
    next_id = std::max(next_id, known.schema_id + 1);
  }
  RETURN_IF_ERROR(check_format(schema, table.format_version));
  if (check == SchemaCheck::kEvolution) RETURN_IF_ERROR(check_evolution(table, schema));
  schema.schema_id = next_id;
  table.last_column_id = std::max(table.last_column_id, schema.max_field_id());
  table.schemas.push_back(std::move(schema));
  return next_id;
}

base::Status set_current_schema(TableMetadata& table, std::int32_t schema_id) {
  if (!table.shows_schema(schema_id)) {
    return fail(ErrorKind::kInvalid, fmt::format("schema {} does not exist", schema_id));
  }
  table.current_schema_id = schema_id;
  return {};
}

base::Status remove_schemas(TableMetadata& table, const std::vector<std::int32_t>& schema_ids) {
  for (std::int32_t id : schema_ids) {
    if (id == table.current_schema_id) {
      return fail(ErrorKind::kInvalid, fmt::format("schema {} is the current one", id));
    }
  }
  for (std::int32_t id : schema_ids) {
    if (table.find_schema(id) != nullptr) table.out_of_sight.schemas.insert(id);
  }
  return {};
}

base::Status set_format_version(TableMetadata& table, std::int32_t version) {
  if (version != 2 && version != 3) {
    return fail(ErrorKind::kInvalid, fmt::format("format version {} is not 2 or 3", version));
  }
  if (version < table.format_version) {
    return fail(ErrorKind::kInvalid,
                fmt::format("Cannot downgrade v{} table to v{}", table.format_version, version));
  }
  table.format_version = version;
  table.properties.insert_or_assign(std::string(kFormatVersionProperty), std::to_string(version));
  return {};
}

}  // namespace lake::model

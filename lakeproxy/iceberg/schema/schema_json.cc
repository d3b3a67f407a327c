#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::model {

using base::json::Fields;
using base::json::Object;
using base::json::Value;

Value to_json(const Schema& schema) {
  Object out{{"type", "struct"}, {"schema-id", schema.schema_id}};
  if (!schema.identifier_field_ids.empty()) {
    out["identifier-field-ids"] =
        boost::json::array(schema.identifier_field_ids.begin(), schema.identifier_field_ids.end());
  }
  out["fields"] = struct_fields_to_json(schema.fields);
  return out;
}

base::Result<Schema> schema_from_json(const Fields& json) {
  Schema schema;
  ASSIGN_OR_RETURN(const auto type, json.opt_string("type"));
  if (type && *type != "struct") {
    return base::fail(base::ErrorKind::kInvalid, json.path_of("type") + ": must be struct");
  }
  ASSIGN_OR_RETURN(const auto id, json.opt_int32("schema-id"));
  schema.schema_id = id.value_or(0);
  if (json.has("identifier-field-ids")) {
    ASSIGN_OR_RETURN(schema.identifier_field_ids, json.int32s("identifier-field-ids"));
  }
  ASSIGN_OR_RETURN(schema.fields, struct_fields_from_json(json));
  return schema;
}

base::Result<Schema> valid_schema_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(auto schema, schema_from_json(json));
  if (auto valid = validate(schema); !valid) {
    return std::move(valid).error().with_context(json.path());
  }
  return schema;
}

}  // namespace lake::model

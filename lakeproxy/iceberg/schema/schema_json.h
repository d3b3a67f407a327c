#pragma once

// Schemas in JSON: in metadata.json, in manifest headers and on the wire; their types, and
// the fields of a struct, which schemas and struct types share (type_json.cc).
// Source: Iceberg table specification, Appendix C, "Schemas".
// Every reader fails with kInvalid and names the path and the rule.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/fields.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::model {

/// With "type": "struct", "schema-id" and "identifier-field-ids" when any.
[[nodiscard]] base::json::Value to_json(const Schema& schema);
[[nodiscard]] base::Result<Schema> schema_from_json(const base::json::Fields& json);
/// One that a client gives. Errors: those of validate(), too.
[[nodiscard]] base::Result<Schema> valid_schema_from_json(const base::json::Fields& json);

[[nodiscard]] base::json::Value to_json(const Type& type);
[[nodiscard]] base::Result<Type> type_from_json(const base::json::Value& value, std::string path);

/// The array of a struct's fields, with docs and defaults where they are set.
[[nodiscard]] base::json::Array struct_fields_to_json(const std::vector<Field>& fields);

/// Reads the member "fields" of a struct.
[[nodiscard]] base::Result<std::vector<Field>> struct_fields_from_json(
    const base::json::Fields& json);

}  // namespace lake::model

#pragma once

// Schemas in JSON: in metadata.json, in manifest headers and on the wire.
// Source: Iceberg table specification, Appendix C.
// Every reader fails with kInvalid and names the path and the rule.

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

}  // namespace lake::model

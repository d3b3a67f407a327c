#pragma once

// Types in JSON, and the fields of a struct, which schemas and struct types share.
// Source: Iceberg table specification, Appendix C, "Schemas".

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/fields.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::model {

[[nodiscard]] base::json::Value to_json(const Type& type);
/// Errors: kInvalid  with `path`, and the rule.
[[nodiscard]] base::Result<Type> type_from_json(const base::json::Value& value, std::string path);

/// The array of a struct's fields, with docs and defaults where they are set.
[[nodiscard]] base::json::Array struct_fields_to_json(const std::vector<Field>& fields);

/// Reads the member "fields" of a struct.
/// Errors: kInvalid  with the path of the member and the rule.
[[nodiscard]] base::Result<std::vector<Field>> struct_fields_from_json(
    const base::json::Fields& json);

}  // namespace lake::model

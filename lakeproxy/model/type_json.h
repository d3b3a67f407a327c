#pragma once

// The fields of a struct in JSON: schemas and struct types share them.
// Source: Iceberg table specification, Appendix C, "Schemas".

#include <vector>

#include "base/core/result.h"
#include "base/json/fields.h"
#include "lakeproxy/model/type.h"

namespace lake::model {

/// The array of a struct's fields, with docs and defaults where they are set.
[[nodiscard]] base::json::Array struct_fields_to_json(const std::vector<Field>& fields);

/// Reads the member "fields" of a struct.
/// Errors: kInvalid  with the path of the member and the rule.
[[nodiscard]] base::Result<std::vector<Field>> struct_fields_from_json(
    const base::json::Fields& json);

}  // namespace lake::model

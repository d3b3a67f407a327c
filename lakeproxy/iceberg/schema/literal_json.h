#pragma once

// A single value in its JSON form.
// Source: Iceberg table specification, Appendix D, "JSON single-value serialization".
// Every reader fails with kInvalid and names the path and the rule.

#include <string>

#include "base/core/result.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::model {

[[nodiscard]] base::json::Value to_json(const Literal& literal, const Type& type);
[[nodiscard]] base::Result<Literal> literal_from_json(const base::json::Value& value,
                                                      const Type& type, std::string path);

}  // namespace lake::model

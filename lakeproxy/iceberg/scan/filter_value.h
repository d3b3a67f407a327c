#pragma once

// A value of a predicate, as the type of its column has it.

#include <optional>

#include "base/json/json.h"
#include "lakeproxy/iceberg/scan/expression.h"

namespace lake::scan {

struct PlacedValue {
  Place place = Place::kInside;
  std::optional<model::Literal> value;  ///< Of one that lies inside.
};

/// What bind() says of values. Nothing: none of that type, or NaN.
[[nodiscard]] std::optional<PlacedValue> value_from_json(const base::json::Value& json,
                                                         const model::Type& type);

}  // namespace lake::scan

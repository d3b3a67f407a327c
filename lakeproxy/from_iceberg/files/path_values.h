#pragma once

// DuckDB reads values that stand in a file's path alone, "name=value" between its
// slashes. Iceberg keeps them as partition values, however the path is called.

#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/name_mapping.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::operation {

/// Under which name `path` says that `column` has `value` (nothing: null), by its
/// own name or one that `mapping` has for it; nothing where it does not say it.
[[nodiscard]] std::optional<std::string> name_in_path(std::string_view path,
                                                      const model::Field& column,
                                                      const model::NameMapping& mapping,
                                                      const std::optional<model::Literal>& value);

}  // namespace lake::operation

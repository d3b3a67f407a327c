#pragma once

// The lake's schemas are flat, Iceberg's namespaces have levels. A namespace
// of one level is the schema of that name. A nested one is a schema whose name
// joins the levels with U+001F, which no level can hold: no two namespaces
// share a schema, and a schema that DuckDB made under any name that a level
// can have is reachable under that name.

#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/model/identifier.h"

namespace lake::ducklake {

/// The lake schema's name. Injective.
[[nodiscard]] std::string flat_schema_name(const model::Namespace& name);

/// The namespace that a lake schema stands for; nothing for a schema whose
/// name Iceberg cannot express (control characters, over 255 bytes).
[[nodiscard]] std::optional<model::Namespace> namespace_of_schema(std::string_view schema_name);

}  // namespace lake::ducklake

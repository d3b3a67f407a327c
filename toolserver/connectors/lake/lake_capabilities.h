#pragma once

// The lake tools as callers see them.

#include <vector>

#include "toolserver/connectors/lake/lake_options.h"
#include "toolserver/model/capability.h"

namespace tool::lake {

inline constexpr const char* kListNamespaces = "lake.list_namespaces";
inline constexpr const char* kListTables = "lake.list_tables";
inline constexpr const char* kDescribeTable = "lake.describe_table";
inline constexpr const char* kExplainAccess = "lake.explain_access";
inline constexpr const char* kQuery = "lake.query";

[[nodiscard]] std::vector<Capability> lake_capabilities(const LakeOptions& options);

}  // namespace tool::lake

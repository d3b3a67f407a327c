#pragma once

// What the SQL tools say of themselves.

#include <vector>

#include "toolserver/connectors/sql/sql_options.h"
#include "toolserver/model/capability.h"

namespace tool::connectors {

/// sql.query, sql.list_tables, sql.describe, and sql.load and sql.unload where there is a
/// data folder.
[[nodiscard]] std::vector<Capability> sql_capabilities(const SqlOptions& options);

}  // namespace tool::connectors

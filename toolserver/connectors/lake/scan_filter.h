#pragma once

// What a statement says in WHERE, as the filter of a scan plan: the lake leaves out files whose
// bounds or partition hold no such row. A condition goes in only where lake and engine compare the
// column in the same way; the engine judges each row of what is left all the same.
// Source: Iceberg REST description, "Expression".

#include <optional>
#include <vector>

#include "base/json/json.h"
#include "toolserver/connectors/lake/lake_catalog.h"
#include "toolserver/connectors/sql/statement_needs.h"

namespace tool::lake {

/// All conditions on the table together. Nothing where there are none. Pure.
[[nodiscard]] std::optional<base::json::Object> filter_of(
    const connectors::QualifiedName& name, const ShownTable& table,
    const std::vector<connectors::Condition>& conditions);

}  // namespace tool::lake

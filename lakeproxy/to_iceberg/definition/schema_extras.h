#pragma once

// A client's schema says more than the lake's columns can hold: lengths of
// fixed, required parts of nested columns, identifier fields, parameters of
// geometries. These two functions say whether it still describes the lake's
// columns, and carry what it says over to the columns of a later change.

#include <set>
#include <vector>

#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::ducklake {

/// Same ids, names, order and types, as far as the lake can tell them apart.
[[nodiscard]] bool same_lake_columns(const std::vector<model::Field>& lake,
                                     const std::vector<model::Field>& client);

/// Gives `schema`, made from the lake's columns, what `before` said of those
/// that are still there. Docs count only for columns that are not among the
/// `documented`: those have theirs in the lake.
void take_over_extras(model::Schema& schema, const model::Schema& before,
                      const std::set<model::FieldId>& documented);

}  // namespace lake::ducklake

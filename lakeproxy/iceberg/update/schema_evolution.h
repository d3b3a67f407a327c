#pragma once

// A new schema is read over files written with the old ones. What it may
// change is what every reader can bridge: a field keeps its id, its place and
// a type that old values fit into.
// Source: Iceberg table specification, "Schema Evolution".

#include "base/core/result.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"

namespace lake::model {

/// Whether values of `from` can be read as `to`: the same type, int as long,
/// float as double, or a decimal with more digits of the same scale. Nested
/// types only compare their kinds: their fields are compared one by one.
[[nodiscard]] bool can_promote(const Type& from, const Type& to);

/// Errors: kInvalid  a type or a default that format `version` lacks; names the column.
/// Source: Iceberg table specification, "Primitive Types" and "Default values".
[[nodiscard]] base::Status check_format(const Schema& schema, std::int32_t version);

/// Checks that `next` may follow the table's current schema. `next` is valid.
/// Errors: kInvalid  a field changes to a type that old values do not fit,
///         moves to another struct, becomes required, is new and required
///         without a default, changes its initial default, or has an id that
///         was given away before; names the column.
[[nodiscard]] base::Status check_evolution(const TableMetadata& table, const Schema& next);

}  // namespace lake::model

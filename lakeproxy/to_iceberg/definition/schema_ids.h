#pragma once

// The lake numbers its columns, Iceberg numbers its schemas. This gives the changes
// of DuckDB that were not shown yet their schemas' ids.
// Source: Iceberg table specification, "Schema Evolution".

#include <map>
#include <set>

#include "base/core/result.h"
#include "lakeproxy/to_iceberg/definition/assigned_ids.h"
#include "lakeproxy/to_iceberg/definition/lake_columns.h"

namespace lake::ducklake {

/// Adds to `ids` the schemas that begin after those that are stored: wherever a column
/// or its comment begins or ends. `columns` holds all rows that count then.
/// A schema takes over what only clients can say (lengths of fixed, required parts,
/// identifier fields) from the one before. One that is equal to another has its id, any
/// other the next above all that were ever given.
/// What is stored for the newest snapshot is replaced in two cases: a client set it before
/// DuckDB made the snapshot, so that it has not the snapshot's columns; and the table's
/// format version 3 shows a default that version 2 could not.
/// A column that is gone and whose type cannot be shown is left out. One that allow_nulls() made
/// optional stays so until the lake's NOT NULL is another.
/// Errors: kUnsupported  a column's type cannot be shown (names it);
///         kCorrupt  no columns, or broken nesting.
[[nodiscard]] base::Status assign_schemas(const LakeColumns& columns, AssignedIds& ids);

/// Columns that hold NULL although the lake has them NOT NULL, in files that were added as they
/// are, and parts of columns that DuckDB may have written NULL into; and from which snapshot on.
using ColumnsWithNull = std::map<model::FieldId, model::SnapshotId>;

/// Makes these columns optional from their snapshots on, in each schema that counts there. Schemas
/// that have ids stay what they are, and count for the snapshots before.
void allow_nulls(const ColumnsWithNull& found, AssignedIds& ids);

/// Of the lake's columns at snapshot `at`, those that are NOT NULL there and optional in `shown`.
[[nodiscard]] std::set<model::FieldId> not_null_in_lake(const LakeColumns& columns,
                                                        model::SnapshotId at,
                                                        const model::Schema& shown);

/// Format version 2 has no defaults.
[[nodiscard]] std::vector<model::Field> without_defaults(std::vector<model::Field> fields);

}  // namespace lake::ducklake

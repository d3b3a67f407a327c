#pragma once

// A row may keep the number of the snapshot that it began in while its file begins at
// a later one: a client of format version 3 writes it anew, or an older content comes
// back. DuckDB, merging the file to an older one, would show the row from that number
// on, beside what it took the place of. It merges only files that begin within one
// range of a table's schema versions, so such a snapshot begins a range: a fence.
// Sources: Iceberg table specification, "Row Lineage"; DuckLake specification 1.0,
// "ducklake_schema_versions"; what DuckDB 1.5.5 merges was looked at (ADR 0093).

#include "lakeproxy/from_iceberg/write/commit_preconditions.h"

namespace lake::ducklake {

/// Whether a snapshot of the change may add such rows.
[[nodiscard]] bool needs_schema_version_fence(const TableChange& change);

/// Begins a range at each such snapshot. `plan` has the change's deltas, the first of
/// which builds on `head`.
/// Errors: those of column_rows().
[[nodiscard]] base::Status add_schema_version_fences(const SchemaSql& sql,
                                                     const TableChange& change,
                                                     const LakeHead& head,
                                                     const PreconditionRows& preconditions,
                                                     CommitPlan& plan);

}  // namespace lake::ducklake

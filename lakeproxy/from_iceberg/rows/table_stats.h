#pragma once

// The statistics of a whole table, which steer DuckDB's reads. A client's
// bounds may be loose or absent, so after its files the range of a column has
// to be unknown, and has to stay unknown when DuckDB writes next.
//
// Two NULL bounds do not say that: DuckDB takes them for "no value so far" and
// puts the bounds of its next file in their place, and every row outside those
// is then skipped by filters. The widest range of the column's type is true,
// and whatever DuckDB merges into it, it stays.
//
// A lone MIN or MAX would be answered with such a bound. DuckDB does that only
// where the table's record count equals its live rows, so the count is one too
// high. It is used for nothing but that and estimates; COUNT(*) is answered
// from the files.
//
// Bounds of strings are exact only where min_is_exact and max_is_exact of DuckLake 1.1 say so.
// We leave them NULL: a client's bounds may be cut, and the widest ones are no values. A column
// whose range becomes the widest loses them.
// Source: DuckLake, DuckLakeColumnStats::MergeStats and the scan's partition
// statistics, as of 1.0.

#include <cstdint>
#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/from_iceberg/rows/file_rows.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::ducklake {

/// Raises the table's totals by `rows`, and makes the ranges of the columns
/// unknown. The columns' types are the lake's, after the change.
[[nodiscard]] std::vector<base::pg::Query> table_stats_queries(const SchemaSql& sql,
                                                               const FilePlace& place,
                                                               const model::Schema& schema,
                                                               const FileRows& rows);

/// Where rows come back: DuckDB, rewriting files, counts those that are there then and
/// their values. Makes the count and the size too high and the ranges unknown; after the rows
/// of the files. DuckDB 2.0 takes rows and bytes of whole files that it drops off again, and
/// ends its process where that leaves less than nothing: the totals are never below the sums
/// of the live files.
[[nodiscard]] std::vector<base::pg::Query> stats_of_returned(const SchemaSql& sql,
                                                             const FilePlace& place,
                                                             const model::Schema& schema);

}  // namespace lake::ducklake

#pragma once

// The preconditions of a commit. A change of a table was decided on the table as it was
// read: what the commit asks of the lake as it is now, and what must still hold then.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "lakeproxy/from_iceberg/write/lake_writer.h"

namespace lake::ducklake {

/// The answers to precondition_queries(), in their order.
using PreconditionRows = std::span<const base::pg::RowsPtr>;

/// Which answer is which. From kOptional on stands what only some changes ask for: the
/// columns (see asks_columns()), a live file for another default spec, those of
/// restore_preconditions() where an older content comes back.
enum Precondition : std::size_t {
  kChanges,
  kRevision,
  kTable,
  kNextRow,
  kAlias,
  kLiveFiles,
  kInlined,
  kOptional,
};

[[nodiscard]] bool has_new_schema(const TableChange& change);
[[nodiscard]] bool has_new_spec(const TableChange& change);
/// Whether the first of the optional ones is the table's columns: for a new schema, and
/// for snapshots that begin a range of schema versions.
[[nodiscard]] bool asks_columns(const TableChange& change);

[[nodiscard]] std::vector<base::pg::Query> precondition_queries(const SchemaSql& sql,
                                                                const TableChange& change);

/// Whether a commit of others since the table was read says `of_table` of it.
[[nodiscard]] bool is_told(const PreconditionRows& preconditions,
                           bool (*of_table)(std::string_view, model::TableId),
                           model::TableId table);

/// The decision holds only if nobody changed the table since, and counts only if the
/// lake's history since then is whole: `change.before` may be old.
/// Errors: kConflict, with the reason kStale  read the table again.
[[nodiscard]] base::Status check_unchanged(const TableChange& change, const LakeHead& head,
                                           const PreconditionRows& preconditions);

/// A client that did not hear the answer must not add its rows twice.
/// Errors: kConflict  a snapshot of the change was committed before.
[[nodiscard]] base::Status check_new(const PreconditionRows& preconditions);

}  // namespace lake::ducklake

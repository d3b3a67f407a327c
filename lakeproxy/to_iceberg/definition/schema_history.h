#pragma once

// The lake numbers its columns, Iceberg numbers its schemas. This walks
// through a table's column rows and makes the list of schemas, with ids that
// stay the same at every reading: those that clients gave, and in between the
// next free one for each change that DuckDB made.
// Source: Iceberg table specification, "Schema Evolution".

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/iceberg/schema/schema.h"
#include "lakeproxy/to_iceberg/definition/lake_columns.h"

namespace lake::ducklake {

/// A row of lakeproxy_schema.
struct ClientSchema {
  model::SnapshotId begin;
  bool is_current = true;
  model::Schema schema;
};

/// Files that began before `before`, and those that began at it and were written
/// first, in the same transaction, cannot be read right at snapshots from it on.
struct OldFileRule {
  model::SnapshotId before;
  std::string message;  ///< Names the column and the ways out.
  /// The column is one that files may lack for which it has a default: later files
  /// that were added without it cannot be read right either.
  std::optional<model::FieldId> defaulted = std::nullopt;
  /// The first snapshot without the column, if it is gone: from there on nothing
  /// is wrong.
  std::optional<model::SnapshotId> until = std::nullopt;

  friend bool operator==(const OldFileRule&, const OldFileRule&) = default;
};

struct SchemaHistory {
  std::vector<model::Schema> schemas;  ///< In the order in which they appeared.
  std::map<model::SnapshotId, std::int32_t> schema_at;
  std::int32_t current_schema_id = 0;
  model::FieldId last_column_id = 0;
  /// To be checked against the table's files.
  std::vector<OldFileRule> old_file_rules;
};

/// A schema begins wherever a column or its comment begins or ends, or a
/// client set one. A client's row counts for that snapshot as long as its
/// columns are the lake's; a schema without a row takes over what only clients
/// can say (lengths of fixed, required parts, identifier fields) from the one
/// before, and equal ones share one id.
/// A column that is gone and whose type cannot be shown is left out.
/// Errors: kUnsupported  a column's type cannot be shown (names it);
///         kCorrupt  no columns, or broken nesting.
[[nodiscard]] base::Result<SchemaHistory> schema_history(const LakeColumns& columns,
                                                         std::vector<ClientSchema> client_schemas);

}  // namespace lake::ducklake

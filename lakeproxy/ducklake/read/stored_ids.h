#pragma once

// The ids that are stored for a table, read, and those that a load assigned, stored.

#include <cstdint>
#include <vector>

#include "base/core/result.h"
#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/to_iceberg/definition/assigned_ids.h"

namespace lake::ducklake {

/// From the rows of LakeSql::definitions and LakeSql::definition_uses.
/// Errors: kInvalid  a definition's JSON breaks Iceberg's form.
[[nodiscard]] base::Result<AssignedIds> read_assigned_ids(const base::pg::Rows& definitions,
                                                          const base::pg::Rows& uses);

/// The statements that store ids, for one READ COMMITTED transaction, and how many rows they write
/// when nobody was first.
struct NewIds {
  std::vector<base::pg::Query> queries;
  std::int64_t definitions = 0;
  std::int64_t uses = 0;

  /// Of the answers to `queries`: `after` is what is stored. Else the table has to be read again,
  /// and what is stored by then is shown.
  [[nodiscard]] bool all_stored(const std::vector<base::pg::RowsPtr>& answers) const;
};

/// Stores what `after` has and `before` has not; no statements where that is nothing. A definition
/// whose id somebody else has taken meanwhile is not stored, and then nothing is said of where any
/// of `after` counts. What somebody else has stored first stays.
[[nodiscard]] NewIds store_ids(const SchemaSql& sql, model::TableId table,
                               const AssignedIds& before, const AssignedIds& after);

}  // namespace lake::ducklake

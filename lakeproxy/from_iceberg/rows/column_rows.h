#pragma once

// An Iceberg schema as rows of ducklake_column, and what must change there
// when the schema changes: rows are ended and begun, never updated, so older
// snapshots keep their columns.
// Source: DuckLake specification 1.0, "ducklake_column".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/postgres/session.h"
#include "lakeproxy/ducklake/commit/snapshot_commit.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::ducklake {

struct ColumnRow {
  model::FieldId id = 0;
  std::int64_t order = 0;
  std::string name;
  std::string type;
  bool nulls_allowed = true;
  std::optional<model::FieldId> parent;
  /// In the lake's text, where a client's schema says something new; the lake's
  /// own stay otherwise.
  std::optional<std::string> initial_default = std::nullopt;
  std::optional<std::string> default_value = std::nullopt;

  friend bool operator==(const ColumnRow&, const ColumnRow&) = default;
};

/// All columns at any depth, parents first, in the order of the schema, with the
/// defaults that `before` (null for a new table) does not have.
/// Errors: kUnsupported  a type or a default that a lake column cannot hold, or
///         a struct without fields; names the column. No columns at all.
[[nodiscard]] base::Result<std::vector<ColumnRow>> column_rows(
    const model::Schema& schema, const model::Schema* before = nullptr);

struct ColumnDiff {
  std::vector<std::int64_t> ended;  ///< Ids whose rows end.
  std::vector<ColumnRow> begun;
  std::vector<ColumnRow> after;  ///< All that the table has then.
  [[nodiscard]] bool empty() const { return ended.empty() && begun.empty(); }
};

/// What turns `current` (the lake's rows) into `wanted`, of clients who were shown `before`. A
/// column keeps the lake's own type where that shows as the wanted type (an int8 stays one), and
/// the lake's NOT NULL where it is as required as it was shown.
[[nodiscard]] ColumnDiff diff_columns(const std::vector<ColumnRow>& current,
                                      std::vector<ColumnRow> wanted, const model::Schema& before);

/// Whether a lake column of type `held` shows as the type that `wanted` is for.
[[nodiscard]] bool same_shown_type(const std::string& held, const std::string& wanted);

/// INSERT of the rows, beginning at `begin`. A column whose row ends at `begin`
/// keeps its defaults: end_columns() runs before.
[[nodiscard]] base::pg::Query insert_columns(const SchemaSql& sql, std::int64_t table_id,
                                             std::int64_t begin,
                                             const std::vector<ColumnRow>& rows);
[[nodiscard]] base::pg::Query end_columns(const SchemaSql& sql, std::int64_t table_id,
                                          std::int64_t end,
                                          const std::vector<std::int64_t>& columns);

/// Comments of columns that are dropped end with them. None of `diff` may be dropped.
[[nodiscard]] base::pg::Query end_tags_of_dropped(const SchemaSql& sql, std::int64_t table_id,
                                                  std::int64_t end, const ColumnDiff& diff);

/// What read_columns() reads of ducklake_column, in its order.
inline constexpr std::string_view kColumnParts =
    "column_id, column_order, column_name, column_type, nulls_allowed, parent_column";

/// Reads rows of kColumnParts.
[[nodiscard]] std::vector<ColumnRow> read_columns(const base::pg::Rows& rows);

/// DuckDB reads a column of a name that DuckLake reserves, and can neither make nor rename one.
/// Names that `before` (null for a new table) has already are left alone.
/// Errors: kInvalid  names the column.
[[nodiscard]] base::Status check_names(const std::vector<ColumnRow>& rows,
                                       const model::Schema* before, model::LakeFormat format);

/// The table that holds small inserts of the schema version after `head`, and its
/// registration: without it DuckDB's next small insert fails. Nothing for a type that is not
/// inlined in PostgreSQL, or a name that cannot stand in such a table.
[[nodiscard]] std::vector<base::pg::Query> make_inlined_table(const SchemaSql& sql,
                                                              const LakeHead& head,
                                                              std::int64_t table_id,
                                                              const std::vector<ColumnRow>& rows);

}  // namespace lake::ducklake

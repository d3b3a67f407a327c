#pragma once

// How ducklake_view writes what it keeps: names as a list in double quotes,
// and a mark in the SQL where the author wrote the lake's own name, which
// every DuckDB client gives to it as it likes.
// Source: DuckLake specification 1.0, "ducklake_view"; what DuckDB 1.5.5
// writes and reads was looked at.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakeproxy/iceberg/view/view.h"

namespace lake::ducklake {

/// "a","b ""c""" for column_aliases. No names: empty, never NULL, which breaks
/// the whole lake for DuckDB.
[[nodiscard]] std::string quoted_list(const std::vector<std::string>& names);
/// Nothing when it is not such a list.
[[nodiscard]] std::optional<std::vector<std::string>> parse_quoted_list(std::string_view text);

/// `sql` with `catalog` where the mark stands. Text in quotes stays.
[[nodiscard]] std::string with_catalog(std::string_view sql, std::string_view catalog);

/// What DuckDB is to see of a view's current version.
struct LakeViewQuery {
  std::string dialect;
  std::string sql;
  std::string column_aliases;
  friend bool operator==(const LakeViewQuery&, const LakeViewQuery&) = default;
};
/// DuckDB's own dialect when the version has it, else its first one: DuckDB
/// then lists the view, and says what it cannot read when it is queried.
[[nodiscard]] LakeViewQuery lake_query(const model::ViewMetadata& view);

}  // namespace lake::ducklake

#pragma once

// Comments stand in the lake's own rows: DuckDB shows what a client said, and clients what DuckDB
// said. To Iceberg's clients that of a table or view is the property "comment", and that of a
// column is its doc. DuckDB has none for parts of columns.
// Source: DuckLake specification 1.0, "ducklake_tag" and "ducklake_column_tag".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::ducklake {

inline constexpr std::string_view kCommentProperty = "comment";

/// Nothing where there is none.
[[nodiscard]] std::optional<std::string> comment_of(
    const std::map<std::string, std::string>& properties);

/// The comment of a table or view from the lake snapshot `begin` on, in place of the one before.
void put_comment(const SchemaSql& sql, std::int64_t object_id, std::int64_t begin,
                 const std::optional<std::string>& comment, std::vector<base::pg::Query>& out);

struct ColumnComment {
  model::FieldId column = 0;
  std::optional<std::string> text;
  friend bool operator==(const ColumnComment&, const ColumnComment&) = default;
};

/// Of the columns of `after` those that said something else in `before`, by field id. What becomes
/// of the others is no matter of comments.
[[nodiscard]] std::vector<ColumnComment> changed_comments(const std::vector<model::Field>& before,
                                                          const std::vector<model::Field>& after);

/// What makes the comments of a table and its columns those of `after`, from `begin` on. Nothing
/// where `before` has the same; it is null for a new table.
[[nodiscard]] std::vector<base::pg::Query> comment_rows(const SchemaSql& sql, std::int64_t table_id,
                                                        std::int64_t begin,
                                                        const model::TableMetadata* before,
                                                        const model::TableMetadata& after);

}  // namespace lake::ducklake

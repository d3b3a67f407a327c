#pragma once

// Tables and views share the names of a namespace: whoever makes, renames or
// drops one must know what the name stands for.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/error.h"
#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/model/identifier.h"

namespace lake::ducklake {

enum class RelationKind : std::uint8_t { kTable, kView };

struct Relation {
  RelationKind kind = RelationKind::kTable;
  std::int64_t id = 0;
  std::string name;  ///< As it is spelled.
};

/// reason() of kAlreadyExists: a view has the name that a table should get.
inline constexpr std::string_view kNameOfView = "name_of_view";

/// What has that name now, or one that DuckDB takes for the same: it tells no cases of ASCII
/// letters apart, and of two such tables it shows one.
[[nodiscard]] base::pg::Query find_relation(const SchemaSql& sql,
                                            const model::TableIdentifier& identifier);
/// Reads the rows of find_relation: what has the very name, if anything has.
[[nodiscard]] std::optional<Relation> read_relation(const base::pg::Rows& rows);
/// The same for who wants the name: what keeps it from a new relation, or from `but`, which may
/// change the case of its own name.
[[nodiscard]] std::optional<Relation> read_namesake(const base::pg::Rows& rows,
                                                    std::optional<std::int64_t> but = std::nullopt);

/// schema_id, path, path_is_relative and the change word of the namespace; no row when there
/// is none.
[[nodiscard]] base::pg::Query find_schema_path(const SchemaSql& sql, const model::Namespace& name);
/// What changes_made calls a table or view of that namespace: a row of find_schema_path().
[[nodiscard]] std::string change_word(const base::pg::Rows& schema, std::string_view name);

/// `name` in double quotes, quotes doubled, for changes_made.
[[nodiscard]] std::string quote_change_name(std::string_view name);

/// kAlreadyExists: `wanted` cannot be made, `found` has its name.
[[nodiscard]] base::Error name_taken(const model::TableIdentifier& identifier, RelationKind wanted,
                                     const Relation& found);
/// kAlreadyExists: `found` has the name that the renamed one should get.
[[nodiscard]] base::Error cannot_rename(const model::TableIdentifier& from,
                                        const model::TableIdentifier& to, const Relation& found);

}  // namespace lake::ducklake

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
};

/// reason() of kAlreadyExists: a view has the name that a table should get.
inline constexpr std::string_view kNameOfView = "name_of_view";

/// What has that name now.
[[nodiscard]] base::pg::Query find_relation(const SchemaSql& sql,
                                            const model::TableIdentifier& identifier);
/// Reads the rows of find_relation; nothing when the name is free.
[[nodiscard]] std::optional<Relation> read_relation(const base::pg::Rows& rows);

/// schema_id, path, path_is_relative and the change word of the namespace; no row when there
/// is none.
[[nodiscard]] base::pg::Query find_schema_path(const SchemaSql& sql, const model::Namespace& name);
/// What changes_made calls a table or view of that namespace: a row of find_schema_path().
[[nodiscard]] std::string change_word(const base::pg::Rows& schema, std::string_view name);

/// `name` in double quotes, quotes doubled, for changes_made.
[[nodiscard]] std::string quote_change_name(std::string_view name);

/// kAlreadyExists: `wanted` cannot be made, `found` has its name.
[[nodiscard]] base::Error name_taken(const model::TableIdentifier& identifier, RelationKind wanted,
                                     RelationKind found);
/// kAlreadyExists: `found` has the name that the renamed one should get.
[[nodiscard]] base::Error cannot_rename(const model::TableIdentifier& from,
                                        const model::TableIdentifier& to, RelationKind found);

}  // namespace lake::ducklake

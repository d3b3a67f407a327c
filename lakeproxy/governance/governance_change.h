#pragma once

// One change of governance as SQL: what it must know, what it writes once that is known, and how
// it is called in the answer and in the audit trail.

#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/governance/governance_objects.h"
#include "lakeproxy/governance/policy_body.h"

namespace lake::governance {

enum class ChangeKind : std::uint8_t { kPut, kRemove };

/// What a change is told by PostgreSQL, in one row: ids of what it names, and what stands there.
struct Found {
  std::optional<std::int64_t> schema, table, view;
  std::optional<std::int64_t> column;       ///< Of the table as it is now.
  std::optional<std::int64_t> lost_column;  ///< Else: of the last one of that name.
  bool has_tag = false;
  std::optional<std::vector<std::string>> allowed_values;  ///< Of the tag; nothing: any.
  std::optional<CompiledBody> policy;
  std::vector<std::pair<std::string, std::int64_t>> columns;  ///< Of the table, at its top.
  std::string used_by;  ///< What keeps it from being removed or replaced; empty: nothing.
};

/// Asks for what `object` names. One row.
[[nodiscard]] base::pg::Query find(const ducklake::SchemaSql& sql, const GovernanceObject& object,
                                   ChangeKind kind, const std::optional<CompiledBody>& compiled);
/// Errors: kCorrupt  a stored policy cannot be read.
[[nodiscard]] base::Result<Found> read_found(const base::pg::Rows& rows);

/// The statements that make the change; at least one row is affected by the last of them, or the
/// object was not there. `compiled` is that of a policy that is put. Errors: see GovernanceStore.
[[nodiscard]] base::Result<std::vector<base::pg::Query>> writes(
    const ducklake::SchemaSql& sql, const GovernanceObject& object, ChangeKind kind,
    const Found& found, const std::optional<CompiledBody>& compiled);

/// "create_tag", as the audit trail calls the change.
[[nodiscard]] std::string_view operation_of(const GovernanceObject& object, ChangeKind kind);
/// "created", as the answer does.
[[nodiscard]] std::string_view status_of(const GovernanceObject& object, ChangeKind kind);
/// What the audit trail calls the object: "sales.orders.ssn", "pii.ssn", the name of a policy or
/// role.
[[nodiscard]] std::string audited_name(const GovernanceObject& object);

}  // namespace lake::governance

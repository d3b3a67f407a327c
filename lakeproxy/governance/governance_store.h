#pragma once

// What is stored of governance: written by an administrator, each change in one transaction with
// its line of the audit trail, and listed. Changes take turns on the row of the policy version, so
// what one has checked holds when it commits. Source: specification, sections 2.4, 3.2 and 4.

#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/json/json.h"
#include "base/postgres/session.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "lakeproxy/audit/audit_log.h"
#include "lakeproxy/auth/principal.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/governance/governance_objects.h"

namespace lake::governance {

/// reason() of kNotFound: no such tag, policy, attachment, role or grant.
inline constexpr std::string_view kNoSuchObject = "no_such_governance_object";

enum class ChangeKind : std::uint8_t;  ///< governance_change.h

/// What became of a change, for its answer.
struct Changed {
  std::string status;         ///< "created", "attached", "revoked", ...
  base::json::Object object;  ///< Its name, in the words of the request.
};

/// One catalog's, on one event loop. What it is made of outlives it and its tasks.
/// Errors everywhere: those of Pool.
class GovernanceStore {
 public:
  /// `trials`: threads on which bodies are tried.
  GovernanceStore(base::pg::Pool& pool, const std::string& metadata_schema,
                  base::BlockingPool& trials, const base::Clock& clock)
      : pool_(&pool),
        sql_(metadata_schema),
        audit_(pool, metadata_schema),
        trials_(&trials),
        clock_(&clock) {}

  /// Makes it, or replaces what has its name.
  /// Errors: kInvalid  a policy's signature or body (compile_mask()), a value that its tag does not
  ///         allow, columns that are not the policy's arguments;
  ///         kNotFound  a schema, table, view or column (by their own reasons), a tag or
  ///         policy (kNoSuchObject);
  ///         kConflict  a second mask would reach a column; what has the name is used in a way that
  ///         the new one cannot be.
  [[nodiscard]] base::Task<base::Result<Changed>> put(base::RequestContext context,
                                                      GovernanceObject object,
                                                      auth::Principal principal);
  /// Of a policy, tag or role only the name is looked at.
  /// Errors: kNotFound (kNoSuchObject, or as put()); kConflict  it is still used.
  [[nodiscard]] base::Task<base::Result<Changed>> remove(base::RequestContext context,
                                                         GovernanceObject object,
                                                         auth::Principal principal);
  /// All of a collection, in the words of the requests that made them, by their names. What is said
  /// of objects that were dropped is not listed, but for columns of a table that is there.
  [[nodiscard]] base::Task<base::Result<base::json::Array>> list(base::RequestContext context,
                                                                 Collection collection) const;
  /// Moves what renames and drops did to governance into the audit trail.
  [[nodiscard]] base::Task<base::Status> audit_events(base::RequestContext context) const;

 private:
  base::Task<base::Result<Changed>> change(base::RequestContext context, GovernanceObject object,
                                           auth::Principal principal, ChangeKind kind);

  base::pg::Pool* pool_;
  ducklake::SchemaSql sql_;
  audit::AuditLog audit_;
  base::BlockingPool* trials_;
  const base::Clock* clock_;
};

}  // namespace lake::governance

#pragma once

// A commit to the lake is one PostgreSQL transaction that inserts exactly the
// next snapshot id. The primary key of ducklake_snapshot is the lock that
// DuckDB clients and we share: whoever comes second gets a unique violation,
// reads the new head and tries again. Our own commits queue before that, on
// the row of lakeproxy_state, so that they rarely collide with each other.
// Source: DuckLake specification 1.0, "Conflict resolution".
//
// What a commit does here (a fault at any moment leaves the old or the new state):
//   begin, lock lakeproxy_state, read the head and the caller's preconditions (kLocked)
//   plan: a pure function of head and preconditions (kPlanned)
//   write the rows, the snapshots and their changes, and COMMIT (kCommitted)

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/model/idempotency_key.h"

namespace lake::ducklake {

/// The newest snapshot's row, and our revision, as locked by the transaction.
struct LakeHead {
  model::SnapshotId snapshot;
  std::int64_t schema_version = 0;
  std::int64_t next_catalog_id = 0;
  std::int64_t next_file_id = 0;
  std::int64_t revision = 0;
  std::int64_t snapshot_ms = 0;  ///< The lake's time of `snapshot`.
  std::int64_t policies = 0;     ///< Version of the policies.
  /// The lake has it until the transaction ends: a migration waits for that.
  model::LakeFormat format = model::LakeFormat::k1_0;

  [[nodiscard]] model::LakeVersion version() const {
    return {snapshot, revision, snapshot_ms, format};
  }
};

/// One lake snapshot to come: the rows, already bound to its id, and what it
/// says of itself.
struct LakeDelta {
  std::vector<base::pg::Query> queries;
  /// Entries of changes_made, in DuckLake's grammar; never empty.
  std::vector<std::string> changes;
  /// Tables whose definition changes: raises schema_version.
  std::vector<std::int64_t> altered_tables;
  bool schema_changes = false;  ///< Also true for namespaces and drops.
  std::int64_t catalog_ids_used = 0;
  std::int64_t file_ids_used = 0;
  std::string extra_info;                        ///< commit_extra_info; nothing when empty.
  std::vector<model::LakeDataFile> added_files;  ///< What `queries` add of them.
};

/// The base version of the snapshot after `delta`.
[[nodiscard]] LakeHead head_after(LakeHead head, const LakeDelta& delta);

struct CommitPlan {
  /// Snapshots head+1, head+2, ...; empty when only sidecars change.
  std::vector<LakeDelta> deltas;
  /// Sidecar rows, written after the deltas' rows; any of them makes the
  /// revision rise to head.revision + 1, which they may use.
  std::vector<base::pg::Query> sidecar_queries;
  /// The table that it is planned for differs from what the planner knew of it
  /// by the rows that this adds, and by nothing else.
  bool is_append = false;
  /// What the idempotency record keeps, where no later state tells it.
  std::string answer;
};

struct Committed {
  model::LakeVersion version;  ///< After the commit; nothing lies between it and `head`.
  std::vector<model::SnapshotId> snapshots;
  LakeHead head;  ///< The base version of the commit.
  bool is_append = false;
  /// The snapshots as a reader of the lake finds them, and the files they added.
  std::vector<model::LakeCommit> commits;
  std::vector<model::LakeDataFile> added_files;
};

/// Computes a plan from the locked head and the rows of the precondition queries.
/// Called again after a collision; must not have effects.
using Planner = std::function<base::Result<CommitPlan>(
    const LakeHead& head, const std::vector<base::pg::RowsPtr>& preconditions)>;

/// reason() of kConflict: there is a record of the idempotency key already.
inline constexpr std::string_view kAlreadyDone = "already_done";

/// What a transaction of commits begins with: the lock that a migration of the lake to
/// another format waits for, that on lakeproxy_state, then the head.
[[nodiscard]] std::vector<base::pg::Query> opening_queries(const SchemaSql& sql);
struct Opened {
  LakeHead head;
  std::int64_t foreign_conflicts = 0;  ///< Snapshot ids that others lost to us; see CommitBackoff.
};
/// The rows of opening_queries(). Errors: kCorrupt  one of them is missing;
/// kUnsupported  the lake has a version of DuckLake that is not understood.
[[nodiscard]] base::Result<Opened> read_opening(const std::vector<base::pg::RowsPtr>& rows);

/// What a plan comes to: its statements, bound to their snapshots.
struct ClosingQueries {
  std::vector<base::pg::Query> queries;
  std::vector<std::size_t> snapshot_rows;  ///< Those of `queries` that tell a snapshot's time.
  Committed committed;                     ///< Without the times of its snapshots.
  LakeHead after;                          ///< The base version of the next commit; the same.
};
/// With a `key` its idempotency record is among them, unless there is nothing
/// to write.
[[nodiscard]] ClosingQueries closing_queries(const SchemaSql& sql, CommitPlan plan, LakeHead head,
                                             const std::optional<model::IdempotencyKey>& key);

}  // namespace lake::ducklake

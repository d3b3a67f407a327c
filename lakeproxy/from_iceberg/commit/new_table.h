#pragma once

// The commit that ends a staged creation: it makes the table and, when the
// client has written rows already, its first snapshots, in one transaction.

#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/iceberg/update/table_update.h"
#include "lakeproxy/model/idempotency_key.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

struct PreparedTable {
  ducklake::NewTable table;
  std::vector<std::string> obsolete_objects;  ///< The client's own lists and manifests.
};

/// `commit` outlives the task.
/// Errors: kConflict  the table exists, or another requirement fails;
///         kNotFound  no such namespace; kInvalid, kForbidden, kUnsupported
///         as plan_updates(); kInvalid  a location outside of the namespace's,
///         or in or around the folder of another table.
[[nodiscard]] base::Task<base::Result<PreparedTable>> prepare_new_table(
    base::RequestContext context, Catalog* catalog, model::TableIdentifier identifier,
    const model::TableCommit* commit);

struct CommittedTable {
  ducklake::CreatedTable created;
  std::vector<std::string> obsolete_objects;  ///< As above.
};

/// Makes the table. Errors: those of prepare_new_table().
[[nodiscard]] base::Task<base::Result<CommittedTable>> commit_new_table(
    base::RequestContext context, Catalog* catalog, model::TableIdentifier identifier,
    const model::TableCommit* commit, std::optional<model::IdempotencyKey> key);

}  // namespace lake::operation

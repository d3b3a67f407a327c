#pragma once

// The commit that ends a staged creation: it makes the table and, when the
// client has written rows already, its first snapshots, in one transaction.

#include <string>
#include <vector>

#include "lakeproxy/model/table_update.h"
#include "lakeproxy/operation/catalog.h"

namespace lake::operation {

/// Returns the client's own lists and manifests, of no use any more.
/// Errors: kConflict  the table exists, or another requirement fails;
///         kNotFound  no such namespace; kInvalid, kForbidden, kUnsupported
///         as plan_updates(); kInvalid  a location outside of the namespace's.
[[nodiscard]] base::Task<base::Result<std::vector<std::string>>> commit_new_table(
    base::RequestContext context, Catalog* catalog, model::TableIdentifier identifier,
    const model::TableCommit* commit);

}  // namespace lake::operation

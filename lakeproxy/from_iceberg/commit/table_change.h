#pragma once

// A client's commit to one table, made ready for the lake: requirements and
// updates applied to the table as a value, and what its new snapshots add read
// from the object store. A commit of one table and one of several begin so.
// Source: Iceberg REST description, "CommitTableRequest".

#include <string>
#include <vector>

#include "lakeproxy/iceberg/update/table_update.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// Whether the commit makes the table (assert-create).
[[nodiscard]] bool creates(const model::TableCommit& commit);

struct PreparedChange {
  ducklake::TableChange change;
  std::vector<std::string> obsolete_objects;  ///< The client's lists and manifests.
};

/// `commit` outlives the task.
/// Errors: kConflict  a requirement does not hold; those of plan_updates() and
///         read_client_snapshot().
[[nodiscard]] base::Task<base::Result<PreparedChange>> prepare_change(
    base::RequestContext context, Catalog* catalog, publish::LoadedTablePtr loaded,
    const model::TableCommit* commit);

/// Leaves out of `obsolete_objects` what one of `snapshots` adds as a data file, and
/// another named as an object of its own.
void spare_data_files(const std::vector<ducklake::AddedSnapshot>& snapshots,
                      std::vector<std::string>& obsolete_objects);

/// Removes what a client wrote and nothing names any more; a failure is logged.
[[nodiscard]] base::Task<void> remove_obsolete_objects(base::RequestContext context,
                                                       Catalog* catalog,
                                                       std::vector<std::string> locations);

/// What is done behind the answer to a commit: the publication is recorded, together with those of
/// others, and obsolete objects are removed. A failure is logged.
[[nodiscard]] base::Task<void> finish_behind(Catalog* catalog, base::RequestContext context,
                                             model::TableIdentifier identifier,
                                             publish::CacheEntryPtr entry,
                                             std::vector<std::string> obsolete_objects);

}  // namespace lake::operation

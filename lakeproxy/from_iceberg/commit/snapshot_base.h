#pragma once

// A client makes a snapshot from the one that was current when it looked. When
// others have committed since, everything but a plain append must be refused:
// it may have decided by rows that changed. An append decides by nothing, so it
// is put on top of what is there now, as the client would do by itself after a
// refusal; many writers of one table then never see one.

#include <string>
#include <vector>

#include "lakeproxy/from_iceberg/commit/update_plan.h"
#include "lakeproxy/iceberg/update/table_update.h"
#include "lakeproxy/to_iceberg/publish/loaded_table.h"

namespace lake::operation {

/// What of a commit's conditions may be passed over.
enum class Rebase { kNo, kYes };

/// kYes: `commit` does nothing but append to main, with the schema that is
/// current in `metadata`.
[[nodiscard]] Rebase may_rebase(const model::TableMetadata& metadata,
                                const model::TableCommit& commit);

/// Errors: kConflict  a requirement does not hold. With kYes main may have moved
///         on from a snapshot that `loaded` knows, or from none.
[[nodiscard]] base::Status check_requirements(const publish::LoadedTable& loaded,
                                              const model::TableCommit& commit, Rebase rebase);

/// The manifest list that the i-th snapshot of `plan` was made from, empty for
/// none: that of the snapshot before it in the same commit, else of its parent.
/// Errors: kConflict  the parent is not the current snapshot, and the commit does
///         more than append or the parent is unknown; or the snapshot was added before.
[[nodiscard]] base::Result<std::string> base_list(const publish::LoadedTable& loaded,
                                                  const UpdatePlan& plan, std::size_t i);

}  // namespace lake::operation

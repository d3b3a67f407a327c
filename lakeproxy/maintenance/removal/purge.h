#pragma once

// The files of a dropped table go page by page, and the lake remembers the
// purge until the last of them is gone: whoever asks again goes on where the
// fault was.
//
// An object stays when it is not certain to be the dropped table's alone: when
// another table's row names it or another table or view stands in its folder,
// in any snapshot that is kept, and when it was written after the drop, by
// whoever makes a table in the same folder.

#include <optional>
#include <vector>

#include "base/log/logger.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/ducklake/maintenance/upkeep.h"
#include "lakeproxy/storage/store.h"

namespace lake::operation {

struct PurgeTools {
  ducklake::LakeUpkeep* upkeep;
  storage::ObjectStore* store;
  const base::log::Logger* log;
  std::string prefix;  ///< The catalog's data path.
};

struct Purged {
  std::uint64_t removed = 0;  ///< Objects.
  std::uint64_t kept = 0;     ///< Objects in the folder that others may need.
};

/// Finishes the purges that are not done: all, or those of tables that had this
/// name. Errors: kUnavailable  some objects are left, ask again; kConflict  as
/// check_owner(), and nothing was removed; those of LakeUpkeep.
[[nodiscard]] base::Task<base::Result<Purged>> finish_purges(
    base::RequestContext context, PurgeTools tools,
    std::optional<model::TableIdentifier> of = std::nullopt);

}  // namespace lake::operation

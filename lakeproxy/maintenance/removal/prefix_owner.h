#pragma once

// One database may remove objects under a catalog's prefix. A clone of the
// database, or a backup that was restored beside it, knows the same prefix and
// not what was written since: to it live files are nobody's. So an object in the
// prefix names the database that owns it, and whatever removes objects compares
// the two first.
//
// The object is put when a lake is opened for the first time. After that only
// take_over() writes it, which an administrator asks for.

#include <string>

#include "base/core/clock.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/ducklake/maintenance/upkeep.h"
#include "lakeproxy/storage/store.h"

namespace lake::operation {

struct PrefixTools {
  ducklake::LakeUpkeep* upkeep;
  storage::ObjectStore* store;
  std::string prefix;  ///< The catalog's data path, "s3://bucket/data/".
};

/// Where the object stands: "s3://bucket/data/lakeproxy-owner.json".
[[nodiscard]] std::string owner_location(const std::string& prefix);

/// Puts the object for a lake that has never done so; nothing afterwards.
/// Another database that was first is found by check_owner().
/// Errors: those of LakeUpkeep and ObjectStore.
[[nodiscard]] base::Task<base::Status> claim_prefix(base::RequestContext context,
                                                    PrefixTools tools);

/// Claims the prefix first, if this lake never has.
/// Errors: kConflict  another database owns the prefix, or the object is not
///         there or cannot be read: the message says what differs and what an
///         administrator can do; those of LakeUpkeep and ObjectStore.
[[nodiscard]] base::Task<base::Status> check_owner(base::RequestContext context, PrefixTools tools);

/// Makes this database the owner. Returns what the object said before, empty
/// when there was none. Errors: those of LakeUpkeep and ObjectStore.
[[nodiscard]] base::Task<base::Result<std::string>> take_over(base::RequestContext context,
                                                              PrefixTools tools);

}  // namespace lake::operation

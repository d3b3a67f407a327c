#pragma once

// The policy that cuts a store's temporary keys to one table. It is a short text with wildcards,
// made from names that others chose, and a store reads '*', '?' and "${" in it as patterns. So
// where a name cannot be said exactly, something narrower is said, or nothing: never something
// wider.
// Source: AWS IAM User Guide, "IAM JSON policy elements reference", "Session policies";
// Amazon S3, "Actions, resources, and condition keys".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "lakeproxy/delegation/storage_rights.h"

namespace lake::delegation {

/// A longer policy is made shorter: AWS packs it together with tags and counts both.
inline constexpr std::size_t kWantedPolicyBytes = 1900;
/// A longer one is refused by AWS and by MinIO.
inline constexpr std::size_t kMostPolicyBytes = 2048;

/// Names of the objects, sorted, that a table's visible snapshots show; nothing: there are more
/// than a policy could hold.
using ShownObjects = std::optional<std::vector<storage::ObjectKey>>;

struct SessionPolicy {
  std::string text;  ///< Compact JSON in ASCII.
  /// A reader's keys open the table's folder, not its shown files alone: they did not fit.
  bool degraded = false;
};

/// Reading: the shown files that `rights` open, the metadata folder, and the names in the table's
/// folder; the folder and what is listed, where that is too long. Writing too: the table's folder
/// and what is listed, and new objects in the folder, of which the recorded data files are left
/// out where they fit. What is closed to the caller is always said.
/// Errors: kForbidden  the name of the table's folder, or of one in it that is closed, cannot be
///         said in a policy, or what must be said is too long.
[[nodiscard]] base::Result<SessionPolicy> session_policy(const StorageRights& rights,
                                                         const ShownObjects& shown);

/// Reading every folder that the rights open, whatever a snapshot shows of it: what DuckDB reads
/// of the lake itself. All of them or none. From `end` on nothing, where there is one: for keys
/// that a store gives for longer.
/// Errors: kForbidden  a name cannot be said in a policy, or it is too long.
[[nodiscard]] base::Result<std::string> folder_policy(const StorageRights& rights,
                                                      std::optional<base::WallTime> end);

}  // namespace lake::delegation

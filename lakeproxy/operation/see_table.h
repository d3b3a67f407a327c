#pragma once

// What a caller may see of a table that is loaded: all of it, all of it with masks that the
// caller's engine applies, or its shadow over masked copies. Every way to a table's answers, scans
// and objects asks here; what the policies cannot decide is refused.
// Source: specification, sections 5.9 and 7.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/iceberg/update/table_update.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// The reason of kForbidden: masks stand between the caller and what it asks for.
inline constexpr std::string_view kMasked = "masked_by_policy";

/// LoadedTables::policy_version() of a catalog in which nobody has written any policy
/// (db/10_governance.sql): its requests pay nothing for governance.
inline constexpr std::int64_t kNoPolicies = 1;

/// The reason of kUnavailable: the policies cannot be told, and that is no leave to read.
inline constexpr std::string_view kGovernanceFailed = "governance_failed";

struct SeenTable {
  publish::LoadedTablePtr loaded;                     ///< What may be shown.
  std::shared_ptr<const policy::MaskPlan> file_mask;  ///< Null: the files are the lake's own.
  /// Null: nothing is left to the caller's engine. `loaded` tells it what to apply.
  std::shared_ptr<const policy::MaskPlan> told_mask = nullptr;
  std::vector<std::string> lifted = {};  ///< Policies that a role lets the caller off.
  std::string unmasked_because = {};     ///< Not empty: nobody could tell the policies.
  /// Of the policies by which it is seen so; nothing where nobody could tell them.
  std::optional<policy::PolicyVersion> version = std::nullopt;

  [[nodiscard]] bool is_shadow() const { return file_mask != nullptr; }
};

/// kUnsupported: a snapshot that a shadow does not have, which `member` of the request names.
[[nodiscard]] base::Error only_newest_is_masked(std::string_view member);

/// `loaded` as `principal`, whom policy allowed to load it, may see it.
/// Where the policies cannot be told but none of them is kept by files, the table as it is, unless
/// Catalog::governance_fails_closed. Errors: kForbidden (kMasked)  nothing of it; kUnavailable
///         (kGovernanceFailed)  the policies cannot be told; those of MaskedTables::get().
[[nodiscard]] base::Task<base::Result<SeenTable>> see_table(base::RequestContext context,
                                                            Catalog* catalog,
                                                            auth::Principal principal,
                                                            publish::LoadedTablePtr loaded);

/// The same for a caller whose change of the table is done: masked copies that are being made are
/// waited for, until the request's deadline. Errors: those of see_table(), which say that the
///         change was made.
[[nodiscard]] base::Task<base::Result<SeenTable>> see_made_table(base::RequestContext context,
                                                                 Catalog* catalog,
                                                                 auth::Principal principal,
                                                                 publish::LoadedTablePtr loaded);

/// The same for a caller that reads the lake itself, where masks of files cannot be kept.
/// Errors: kForbidden (kMasked)  also of a table whose files are masked for the caller.
[[nodiscard]] base::Task<base::Result<SeenTable>> see_lake_table(base::RequestContext context,
                                                                 Catalog* catalog,
                                                                 auth::Principal principal,
                                                                 publish::LoadedTablePtr loaded);

/// Whether the caller sees the table itself: whoever is kept from rows must not replace them, nor
/// add rows that the masks would hide (ADR 0111).
/// Gives the version of the policies that say so.
/// Errors: kForbidden (kMasked)  names the policies; those of resolving the policies.
[[nodiscard]] base::Task<base::Result<policy::PolicyVersion>> check_sees_itself(
    base::RequestContext context, Catalog* catalog, auth::Principal principal,
    publish::LoadedTablePtr loaded);

/// Takes the notes about masks off that a client was shown and sends back.
void drop_mask_notes(model::TableCommit& commit);

}  // namespace lake::operation

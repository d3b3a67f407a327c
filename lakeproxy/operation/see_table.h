#pragma once

// What a caller may see of a table that is loaded: all of it, or its shadow over masked copies.
// Every way to a table's answers, scans and objects asks here; what the policies
// cannot decide is refused.
// Source: specification, sections 5.9 and 7.

#include <memory>

#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// The reason of kForbidden: masks stand between the caller and what it asks for.
inline constexpr std::string_view kMasked = "masked_by_policy";

/// LoadedTables::policy_version() of a catalog in which nobody has written any policy
/// (db/10_governance.sql): its requests pay nothing for governance.
inline constexpr std::int64_t kNoPolicies = 1;

struct SeenTable {
  publish::LoadedTablePtr loaded;                     ///< What may be shown.
  std::shared_ptr<const policy::MaskPlan> file_mask;  ///< Null: `loaded` is the lake's own.

  [[nodiscard]] bool is_shadow() const { return file_mask != nullptr; }
};

/// `loaded` as `principal`, whom policy allowed to load it, may see it.
/// Errors: kForbidden (kMasked)  nothing of it; those of MaskedTables::get(), and of resolving
///         the policies.
[[nodiscard]] base::Task<base::Result<SeenTable>> see_table(base::RequestContext context,
                                                            Catalog* catalog,
                                                            auth::Principal principal,
                                                            publish::LoadedTablePtr loaded);

/// Whether the caller sees the table itself: whoever is kept from rows must not replace them, nor
/// add rows that the masks would hide (ADR 0111).
/// Errors: kForbidden (kMasked)  names the policies; those of resolving the policies.
[[nodiscard]] base::Task<base::Status> check_sees_itself(base::RequestContext context,
                                                         Catalog* catalog,
                                                         auth::Principal principal,
                                                         publish::LoadedTablePtr loaded);
/// The same by name; a table that is not there is nobody's to hide. Errors: those of
/// LoadedTables::get(), too.
[[nodiscard]] base::Task<base::Status> check_sees_itself(base::RequestContext context,
                                                         Catalog* catalog,
                                                         auth::Principal principal,
                                                         model::TableIdentifier identifier);

}  // namespace lake::operation

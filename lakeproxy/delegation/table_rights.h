#pragma once

// The rights to one table's objects, of a caller whom policy allowed to load it.

#include <optional>
#include <string>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/auth/principal.h"
#include "lakeproxy/delegation/storage_rights.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/operation/tables.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::delegation {

/// What that caller may do with the objects of the table: no more than `wanted`, and writing only
/// with a scope that writes the table's namespace. One question to PostgreSQL beside the load.
/// Errors: those of LoadedTables::get(); kForbidden  the caller may not read the namespace, the
///         table has no folder of its own: see table_folder_rights(); kUnavailable, kTimeout.
[[nodiscard]] base::Task<base::Result<StorageRightsPtr>> storage_rights(
    base::RequestContext context, operation::Catalog* catalog,
    policy::Authorized<operation::LoadTable> request, KeyAccess wanted);

/// A table by where it lies.
struct TablePlace {
  model::Namespace name_space;
  std::string location;                                ///< Of a shadow the folder of its masks.
  std::optional<model::TableId> table = std::nullopt;  ///< Nothing: it is staged.
  bool is_shadow = false;                              ///< Read, and nothing beside its folder.
};
/// That of a table as a caller sees it.
[[nodiscard]] TablePlace seen_place(const model::Namespace& name_space,
                                    const operation::SeenTable& seen);
/// The same for a table that is known already, or that is staged. `principal` is one whom policy
/// allowed to load or make it.
/// Files of tables that are masked for the caller are never opened by way of another table: their
/// folders are closed, and so are the folders that an administrator has listed for everybody.
/// Errors: kForbidden  as storage_rights(), and where a table of another namespace, or one that
///         is masked for the caller, has the same folder: keys to the one would open the other;
///         kUnavailable, kTimeout.
[[nodiscard]] base::Task<base::Result<StorageRightsPtr>> table_folder_rights(
    base::RequestContext context, operation::Catalog* catalog, auth::Principal principal,
    TablePlace place, KeyAccess wanted);

/// What its token says; roles that are granted to it here stand in PostgreSQL.
[[nodiscard]] inline std::vector<std::string> roles_of(const auth::Principal& principal) {
  return principal.grants ? principal.grants->roles : std::vector<std::string>();
}

/// That of a table that is loaded, as the caller sees it. Errors: those of see_table().
[[nodiscard]] base::Task<base::Result<TablePlace>> seen_table_place(base::RequestContext context,
                                                                    operation::Catalog* catalog,
                                                                    auth::Principal principal,
                                                                    model::Namespace name_space,
                                                                    publish::LoadedTablePtr loaded);

}  // namespace lake::delegation

#include "lakeproxy/delegation/table_rights.h"

namespace lake::delegation {
namespace {

using base::ErrorKind;

KeyAccess access_of(const auth::Principal& principal, const model::Namespace& name,
                    KeyAccess wanted) {
  const bool writes = wanted == KeyAccess::kReadWrite && policy::may_write(principal, name);
  return writes ? KeyAccess::kReadWrite : KeyAccess::kRead;
}

}  // namespace

base::Task<base::Result<StorageRightsPtr>> table_folder_rights(base::RequestContext context,
                                                               operation::Catalog* catalog,
                                                               auth::Principal principal,
                                                               TablePlace place, KeyAccess wanted) {
  if (!policy::may_read(principal, place.name_space)) {
    co_return base::fail(ErrorKind::kForbidden, "not allowed to " + principal.subject)
        .with_detail("keys to a table of namespace " + place.name_space.display());
  }
  auto folder = storage::Location::parse(place.location);
  if (!folder) co_return std::move(folder).error().with_context("location of the table");
  RightsPlaces places{.table = *folder, .listed = catalog->file_prefixes, .others = {}};
  CO_ASSIGN_OR_RETURN(
      auto others, co_await catalog->upkeep->other_folders(context, place.table, place.location));
  for (const std::string& other : others) {
    auto inner = storage::Location::parse(other);
    // What cannot be named cannot be left out either.
    if (!inner || !storage::is_under(*inner, *folder)) {
      co_return base::fail(
          ErrorKind::kForbidden,
          "the table's folder is that of another namespace, too: there are no keys for it")
          .with_detail(other);
    }
    places.others.push_back(std::move(*inner));
  }
  co_return StorageRights::make(catalog->store->bucket(), places,
                                access_of(principal, place.name_space, wanted));
}

base::Task<base::Result<StorageRightsPtr>> storage_rights(
    base::RequestContext context, operation::Catalog* catalog,
    policy::Authorized<operation::LoadTable> request, KeyAccess wanted) {
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await catalog->loaded_tables->get(context, request->identifier));
  co_return co_await table_folder_rights(context, catalog, request.principal(),
                                         {.name_space = request->identifier.name_space,
                                          .location = loaded->metadata.location,
                                          .table = loaded->table.table_id},
                                         wanted);
}

}  // namespace lake::delegation

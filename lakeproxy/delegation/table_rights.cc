#include "lakeproxy/delegation/table_rights.h"

namespace lake::delegation {
namespace {

using base::ErrorKind;

KeyAccess access_of(const auth::Principal& principal, const model::Namespace& name,
                    KeyAccess wanted) {
  const bool writes = wanted == KeyAccess::kReadWrite && policy::may_write(principal, name);
  return writes ? KeyAccess::kReadWrite : KeyAccess::kRead;
}

// Folders of other tables whose files are masked for the caller. One that is, or holds, the folder
// itself leaves nothing that keys could be cut to.
base::Status close_masked(const std::vector<std::string>& masked, const storage::Location& folder,
                          RightsPlaces& places) {
  for (const std::string& text : masked) {
    auto other = storage::Location::parse(text);
    if (!other) {
      return base::fail(ErrorKind::kForbidden, "a masked table's folder cannot be left out");
    }
    if (storage::is_under(*other, folder)) {
      places.others.push_back(std::move(*other));
      continue;
    }
    const bool holds =
        other->bucket() == folder.bucket() && (folder.path() + "/").starts_with(other->path());
    if (holds) {
      return base::fail(ErrorKind::kForbidden,
                        "the table's folder is that of a table whose files are masked for you, "
                        "too: there are no keys for it");
    }
  }
  return {};
}

}  // namespace

TablePlace seen_place(const model::Namespace& name_space, const operation::SeenTable& seen) {
  return {.name_space = name_space,
          .location = seen.loaded->metadata.location,
          .table = seen.loaded->table.table_id,
          .is_shadow = seen.is_shadow()};
}

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
  if (place.is_shadow) {
    // The folder of a signature holds copies alone.
    places.listed.clear();
    co_return StorageRights::make(catalog->store->bucket(), places, KeyAccess::kRead);
  }
  CO_ASSIGN_OR_RETURN(
      auto masked, co_await catalog->upkeep->masked_folders(context, place.table, principal.subject,
                                                            roles_of(principal)));
  CO_RETURN_IF_ERROR(close_masked(masked, *folder, places));
  if (!masked.empty()) places.listed.clear();
  co_return StorageRights::make(catalog->store->bucket(), places,
                                access_of(principal, place.name_space, wanted));
}

base::Task<base::Result<StorageRightsPtr>> storage_rights(
    base::RequestContext context, operation::Catalog* catalog,
    policy::Authorized<operation::LoadTable> request, KeyAccess wanted) {
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await catalog->loaded_tables->get(context, request->identifier));
  CO_ASSIGN_OR_RETURN(auto place,
                      co_await seen_table_place(context, catalog, request.principal(),
                                                request->identifier.name_space, std::move(loaded)));
  co_return co_await table_folder_rights(context, catalog, request.principal(), std::move(place),
                                         wanted);
}

base::Task<base::Result<TablePlace>> seen_table_place(base::RequestContext context,
                                                      operation::Catalog* catalog,
                                                      auth::Principal principal,
                                                      model::Namespace name_space,
                                                      publish::LoadedTablePtr loaded) {
  CO_ASSIGN_OR_RETURN(auto seen, co_await operation::see_table(
                                     context, catalog, std::move(principal), std::move(loaded)));
  co_return seen_place(name_space, seen);
}

}  // namespace lake::delegation

// A table registered by its metadata file, from top to bottom:
//   1 whose it is: a table that was dropped here comes back to whoever may write the namespace
//     that it was in
//   2 the file, read from the catalog's own prefix (storage/). A table that was here comes back as
//     it was; any other, and one whose snapshots the lake has expired since it was unregistered,
//     is read manifest by manifest (storage/)
//   3 one PostgreSQL transaction (from_iceberg/write/)
//   4 the table as it is now (table_cache/)

#include "lakeproxy/from_iceberg/import/foreign_table.h"
#include "lakeproxy/operation/catalog/now.h"
#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using base::fail;

// Else a right in one namespace would bring in what was dropped from another.
base::Status check_origin(const auth::Principal& principal, const ducklake::Origin& origin) {
  if (!policy::may_write(principal, origin.name_space)) {
    return fail(ErrorKind::kForbidden, "not allowed to " + principal.subject)
        .with_detail("a table that was in another namespace");
  }
  if (origin.only_files) return {};
  if (origin.live) {
    return fail(ErrorKind::kAlreadyExists, "metadata-location: belongs to a table that is there");
  }
  if (!origin.newest) {
    return fail(ErrorKind::kUnsupported,
                "metadata-location: a table comes back by its newest metadata file only");
  }
  return {};
}

// A name that is taken is said before a long reading; the transaction checks it again.
base::Status check_free(const RegisterTable& request, const base::Result<model::TableId>& found) {
  if (found && request.existing == ducklake::Existing::kRefused) {
    return fail(ErrorKind::kAlreadyExists, "Table already exists: " + request.identifier.display());
  }
  if (!found && found.error().kind() != ErrorKind::kNotFound) return found.error();
  return {};
}

base::Task<base::Status> register_foreign(base::RequestContext context, Catalog* catalog,
                                          const RegisterTable* request,
                                          ducklake::LakeWriter* writer,
                                          model::TableMetadata metadata,
                                          std::optional<model::TableId> replaced) {
  CO_ASSIGN_OR_RETURN(bool taken,
                      co_await writer->is_location_taken(context, metadata.location, replaced));
  if (taken) {
    co_return fail(
        ErrorKind::kAlreadyExists,
        "location: lies in or around the folder of a table, view or namespace that is there, "
        "or its files are being removed");
  }
  CO_ASSIGN_OR_RETURN(auto table, co_await read_foreign_table(context, catalog, request->identifier,
                                                              std::move(metadata)));
  table.metadata.last_updated_ms = now_ms(*catalog->clock);
  table.existing = request->existing;
  CO_RETURN_IF_ERROR(co_await writer->create_table(context, std::move(table)));
  co_return base::Status{};
}

}  // namespace

base::Task<base::Result<ShownTable>> register_table(base::RequestContext context, Catalog* catalog,
                                                    policy::Authorized<RegisterTable> request) {
  const model::TableIdentifier& identifier = request->identifier;
  CO_RETURN_IF_ERROR(model::validate_new_name(identifier.name));
  CO_RETURN_IF_ERROR(co_await catalog->reader->load_namespace(context, identifier.name_space));
  auto found = co_await catalog->reader->find_table(context, identifier);
  CO_RETURN_IF_ERROR(check_free(*request, found));
  ducklake::LakeWriter writer = catalog->writer->keyed(request.key());
  CO_ASSIGN_OR_RETURN(auto origin,
                      co_await writer.find_origin(context, request->metadata_location));
  if (origin) CO_RETURN_IF_ERROR(check_origin(request.principal(), *origin));
  CO_ASSIGN_OR_RETURN(auto metadata,
                      co_await read_metadata_file(context, catalog, request->metadata_location));
  // What the lake has expired of an unregistered table is not here to come back; its
  // files are, and are registered as another catalog's would be.
  if (origin && !origin->only_files) {
    ducklake::RestoredTable restored{origin->table, identifier, request->existing};
    CO_RETURN_IF_ERROR(co_await writer.restore_table(context, std::move(restored)));
  } else {
    std::optional<model::TableId> replaced;
    if (found) replaced = *found;
    CO_RETURN_IF_ERROR(co_await register_foreign(context, catalog, &*request, &writer,
                                                 std::move(metadata), replaced));
  }
  CO_ASSIGN_OR_RETURN(auto loaded, co_await catalog->loaded_tables->get(context, identifier));
  CO_ASSIGN_OR_RETURN(
      auto seen, co_await see_made_table(context, catalog, request.principal(), std::move(loaded)));
  co_return ShownTable(request, *catalog, std::move(seen));
}

}  // namespace lake::operation

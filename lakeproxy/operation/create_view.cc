// Making a view, from top to bottom:
//   1 its namespace, and that the name is free
//   2 the view as a value
//   3 its metadata file; nothing points to it before 4
//   4 one PostgreSQL transaction, which checks 1 again

#include <utility>

#include "lakeproxy/iceberg/view/view_change.h"
#include "lakeproxy/operation/views.h"
#include "lakeproxy/to_iceberg/publish/view_file.h"

namespace lake::operation {

base::Task<base::Result<ViewAnswer>> create_view(base::RequestContext context, Catalog* catalog,
                                                 policy::Authorized<CreateViewIn> request) {
  const model::TableIdentifier identifier{request->name_space, request->view.name};
  CO_ASSIGN_OR_RETURN(auto parent, co_await find_view_place(context, catalog, identifier));
  // As a table's, a view's place follows the server's own rule.
  model::NewView decided{.uuid = base::make_uuid_v4(*catalog->random), .location = ""};
  decided.location = catalog->writer->new_table_location(parent, identifier.name, decided.uuid);
  CO_ASSIGN_OR_RETURN(auto metadata, model::new_view(request->view, decided));
  co_return co_await put_new_view(context, catalog, request.key(), identifier, std::move(metadata));
}

base::Task<base::Result<ducklake::NamespaceInfo>> find_view_place(
    base::RequestContext context, Catalog* catalog, model::TableIdentifier identifier) {
  CO_ASSIGN_OR_RETURN(auto parent,
                      co_await catalog->reader->load_namespace(context, identifier.name_space));
  CO_RETURN_IF_ERROR(co_await catalog->view_store->check_name_is_free(
      context, std::move(identifier), ducklake::RelationKind::kView));
  co_return parent;
}

base::Task<base::Result<ViewAnswer>> put_new_view(base::RequestContext context, Catalog* catalog,
                                                  std::optional<model::IdempotencyKey> key,
                                                  model::TableIdentifier identifier,
                                                  model::ViewMetadata metadata) {
  CO_ASSIGN_OR_RETURN(auto file, publish::view_file(metadata));
  CO_RETURN_IF_ERROR(co_await catalog->manifests->put(context, {file}));
  CO_RETURN_IF_ERROR(
      co_await catalog->view_store->keyed(std::move(key))
          .create_view(context, ducklake::NewLakeView{std::move(identifier), std::move(metadata),
                                                      file.location}));
  co_return file;
}

}  // namespace lake::operation

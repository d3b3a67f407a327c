#include "lakeproxy/operation/new_view.h"

#include <utility>

#include "lakeproxy/to_iceberg/publish/view_file.h"

namespace lake::operation {

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

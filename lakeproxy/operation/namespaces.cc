#include "lakeproxy/operation/namespaces.h"

#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::operation {

namespace {

using NamespacePage = ducklake::Page<model::Namespace>;

// What the caller may see of a page. One without any leads to the next, so that a client which
// takes an empty page for the last one misses nothing.
base::Task<base::Result<NamespacePage>> visible_page(base::RequestContext context, Catalog* catalog,
                                                     policy::Authorized<ListNamespaces> request,
                                                     ducklake::PageRequest page) {
  while (true) {
    CO_ASSIGN_OR_RETURN(NamespacePage found,
                        co_await catalog->reader->list_namespaces(context, request->parent, page));
    std::erase_if(found.items, [&](const model::Namespace& name) {
      return !policy::may_see(request.principal(), name);
    });
    if (!found.items.empty() || !found.next) co_return found;
    page.after = *found.next;
  }
}

}  // namespace

base::Task<base::Result<ducklake::Page<model::Namespace>>> list_namespaces(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ListNamespaces> request) {
  auto read = [&](const ducklake::PageRequest& page) {
    return visible_page(context, catalog, request, page);
  };
  co_return co_await read_pages<model::Namespace>(request->paging, read);
}

base::Task<base::Result<void>> create_namespace(base::RequestContext context, Catalog* catalog,
                                                policy::Authorized<CreateNamespace> request) {
  for (const auto& [key, value] : request->properties) {
    CO_RETURN_IF_ERROR(model::check_property_key(key));
  }
  co_return co_await catalog->writer->keyed(request.key())
      .create_namespace(context, request->name, request->properties);
}

base::Task<base::Result<ducklake::NamespaceInfo>> load_namespace(
    base::RequestContext context, Catalog* catalog, policy::Authorized<LoadNamespace> request) {
  co_return co_await catalog->reader->load_namespace(context, request->name);
}

base::Task<base::Result<void>> drop_namespace(base::RequestContext context, Catalog* catalog,
                                              policy::Authorized<DropNamespace> request) {
  co_return co_await catalog->writer->keyed(request.key()).drop_namespace(context, request->name);
}

base::Task<base::Result<ducklake::PropertyChanges>> change_namespace(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ChangeNamespace> request) {
  for (const std::string& key : request->removals) {
    CO_RETURN_IF_ERROR(model::check_property_key(key));
  }
  for (const auto& [key, value] : request->updates) {
    CO_RETURN_IF_ERROR(model::check_property_key(key));
  }
  co_return co_await catalog->writer->keyed(request.key())
      .change_namespace(context, request->name, request->removals, request->updates);
}

}  // namespace lake::operation

#include "lakeproxy/operation/catalogs.h"

namespace lake::operation {

base::Task<base::Result<void>> create_catalog(base::RequestContext context,
                                              ducklake::CatalogRegistry* registry,
                                              policy::Authorized<CreateCatalog> request) {
  co_return co_await registry->add(context, request->catalog);
}

base::Task<base::Result<ducklake::Page<model::RegisteredCatalog>>> list_catalogs(
    base::RequestContext context, ducklake::CatalogRegistry* registry,
    policy::Authorized<ListCatalogs> request) {
  auto read = [&](const ducklake::PageRequest& page) { return registry->list(context, page); };
  co_return co_await read_pages<model::RegisteredCatalog>(request->paging, read);
}

}  // namespace lake::operation

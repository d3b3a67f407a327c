#include "lakeproxy/operation/catalogs.h"

namespace lake::operation {

base::Task<base::Result<void>> create_catalog(base::RequestContext context,
                                              ducklake::CatalogRegistry* registry,
                                              policy::Authorized<CreateCatalog> request) {
  co_return co_await registry->add(context, request->catalog);
}

}  // namespace lake::operation

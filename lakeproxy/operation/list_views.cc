#include "lakeproxy/operation/views.h"

namespace lake::operation {

base::Task<base::Result<ducklake::Page<std::string>>> list_views(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ListViews> request) {
  auto read = [&](const ducklake::PageRequest& page) {
    return catalog->view_store->list_views(context, request->name_space, page);
  };
  co_return co_await read_pages<std::string>(request->paging, read);
}

}  // namespace lake::operation

#include "lakeproxy/operation/views.h"

namespace lake::operation {

base::Task<base::Result<ducklake::Page<std::string>>> list_views(
    base::RequestContext context, Catalog* catalog, govern::Authorized<ListViews> request) {
  const Paging& paging = request->paging;
  ducklake::PageRequest page{paging.size, paging.token.value_or("")};
  ducklake::Page<std::string> all;
  do {
    CO_ASSIGN_OR_RETURN(
        auto part, co_await catalog->view_store->list_views(context, request->name_space, page));
    all.items.insert(all.items.end(), part.items.begin(), part.items.end());
    all.next = std::move(part.next);
    page.after = all.next.value_or("");
  } while (!paging.token && all.next);
  co_return all;
}

}  // namespace lake::operation

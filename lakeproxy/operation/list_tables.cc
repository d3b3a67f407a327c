#include "lakeproxy/operation/tables.h"

namespace lake::operation {

base::Task<base::Result<ducklake::Page<ducklake::TableEntry>>> list_tables(
    base::RequestContext context, Catalog* catalog, govern::Authorized<ListTables> request) {
  const Paging& paging = request->paging;
  ducklake::PageRequest page{paging.size, paging.token.value_or("")};
  ducklake::Page<ducklake::TableEntry> all;
  do {
    CO_ASSIGN_OR_RETURN(auto part,
                        co_await catalog->reader->list_tables(context, request->name_space, page));
    all.items.insert(all.items.end(), part.items.begin(), part.items.end());
    all.next = std::move(part.next);
    page.after = all.next.value_or("");
  } while (!paging.token && all.next);
  co_return all;
}

}  // namespace lake::operation

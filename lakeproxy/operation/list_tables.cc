#include "lakeproxy/operation/tables.h"

namespace lake::operation {

base::Task<base::Result<ducklake::Page<std::string>>> list_tables(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ListTables> request) {
  auto read = [&](const ducklake::PageRequest& page) {
    return catalog->reader->list_tables(context, request->name_space, page);
  };
  co_return co_await read_pages<std::string>(request->paging, read);
}

}  // namespace lake::operation

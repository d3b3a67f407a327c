#include <fmt/format.h>

#include "lakeproxy/operation/tables.h"
#include "lakeproxy/to_iceberg/publish/table_at.h"

namespace lake::operation {

base::Task<base::Result<ShownTable>> load_table(base::RequestContext context, Catalog* catalog,
                                                policy::Authorized<LoadTable> request) {
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await catalog->loaded_tables->get(context, request->identifier));
  co_return ShownTable(request, *catalog, std::move(loaded));
}

base::Task<base::Result<TableAt>> load_table_at(base::RequestContext context, Catalog* catalog,
                                                policy::Authorized<LoadTable> request) {
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await catalog->loaded_tables->get(context, request->identifier));
  auto snapshot = publish::find_snapshot(*loaded, *request->snapshot_id);
  if (!snapshot) {
    co_return base::fail(
        base::ErrorKind::kNotFound,
        fmt::format("snapshot-id: the table has no snapshot {}", request->snapshot_id->value));
  }
  co_return TableAt{ShownTable(request, *catalog, std::move(loaded)), *snapshot};
}

}  // namespace lake::operation

#include <fmt/format.h>

#include "lakeproxy/operation/tables.h"
#include "lakeproxy/to_iceberg/publish/table_at.h"

namespace lake::operation {

base::Task<base::Result<ShownTable>> load_table(base::RequestContext context, Catalog* catalog,
                                                policy::Authorized<LoadTable> request) {
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await catalog->loaded_tables->get(context, request->identifier));
  CO_ASSIGN_OR_RETURN(auto seen,
                      co_await see_table(context, catalog, request.principal(), std::move(loaded)));
  co_return ShownTable(request, *catalog, std::move(seen));
}

base::Task<base::Result<void>> table_exists(base::RequestContext context, Catalog* catalog,
                                            policy::Authorized<LoadTable> request) {
  CO_RETURN_IF_ERROR(co_await catalog->loaded_tables->get(context, request->identifier));
  co_return base::Result<void>{};
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
  CO_ASSIGN_OR_RETURN(auto seen, co_await see_table(context, catalog, request.principal(), loaded));
  const bool is_newest = snapshot == loaded->metadata.current_snapshot_id;
  if (seen.is_shadow() && (!is_newest || !publish::find_snapshot(*seen.loaded, *snapshot))) {
    co_return only_newest_is_masked("snapshot-id");
  }
  co_return TableAt{ShownTable(request, *catalog, std::move(seen)), *snapshot};
}

}  // namespace lake::operation

// A table dropped, from top to bottom:
//   1 with purge: this database is the one that may remove files
//   2 its last metadata file is recorded: by it the table can come back
//   3 one PostgreSQL transaction (from_iceberg/write/); with purge it says, too, that the
//     files go, so that a fault in 4 leaves something to go on with
//   4 the files (storage/)

#include "lakeproxy/maintenance/removal/prefix_owner.h"
#include "lakeproxy/maintenance/removal/purge.h"
#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

// The metadata file that a commit's answer has named is what brings the table
// back; the lake knows it before the table goes. The drop does not depend on it.
base::Task<void> record_publication(base::RequestContext context, Catalog* catalog,
                                    const model::TableIdentifier* identifier) {
  if (catalog->loaded_tables->newest_known(*identifier) == nullptr) co_return;
  auto recorded = co_await catalog->loaded_tables->remembered(*identifier);
  // What was published may be gone from the store: it is made anew.
  if (recorded && *recorded == nullptr) {
    recorded = co_await catalog->loaded_tables->get(context, *identifier);
  }
  if (recorded) co_return;
  catalog->log->for_request(context.request_id)
      .warning("a table is dropped before its last metadata file is recorded",
               {{"table", identifier->display()}, {"error", recorded.error().message()}});
}

PurgeTools purge_tools(const Catalog& catalog) {
  return {catalog.upkeep, catalog.store, &*catalog.log, catalog.lake.data_path};
}

// A table whose files may not be removed is not dropped either. What the check
// cannot find out now, the purge asks again.
base::Task<base::Status> check_purge(base::RequestContext context, const Catalog* catalog) {
  auto owned =
      co_await check_owner(context, {catalog->upkeep, catalog->store, catalog->lake.data_path});
  if (!owned && owned.error().kind() == base::ErrorKind::kConflict) {
    co_return std::move(owned).error();
  }
  co_return base::Status{};
}

}  // namespace

base::Task<base::Result<void>> drop_table(base::RequestContext context, Catalog* catalog,
                                          policy::Authorized<DropTable> request) {
  const bool purge = request->purge == Purge::kYes;
  if (purge) {
    CO_RETURN_IF_ERROR(co_await check_purge(context, catalog));
  }
  co_await record_publication(context, catalog, &request->identifier);
  auto dropped = co_await catalog->writer->keyed(request.key())
                     .drop_table(context, request->identifier,
                                 purge ? ducklake::Files::kGo : ducklake::Files::kStay);
  if (!dropped) {
    // Asked again after a purge that broke off: the table is gone already.
    if (!purge || dropped.error().reason() != ducklake::kNoSuchTable) {
      co_return std::move(dropped).error();
    }
    CO_ASSIGN_OR_RETURN(auto open, co_await catalog->upkeep->purges(context, request->identifier));
    if (open.empty()) co_return std::move(dropped).error();
  }
  co_return co_await finish_drop(context, catalog, std::move(request));
}

base::Task<base::Result<void>> finish_drop(base::RequestContext context, Catalog* catalog,
                                           policy::Authorized<DropTable> request) {
  if (request->purge == Purge::kNo) co_return base::Result<void>{};
  CO_RETURN_IF_ERROR(co_await finish_purges(context, purge_tools(*catalog), request->identifier));
  co_return base::Result<void>{};
}

}  // namespace lake::operation

// A table dropped, from top to bottom:
//   1 its last metadata file is finished: by it the table can come back
//   2 one PostgreSQL transaction (ducklake/); with purge it says, too, that the
//     files go, so that a fault in 3 leaves something to go on with
//   3 the files (objects/)

#include "lakeproxy/operation/purge.h"
#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

// The metadata file that a commit's answer has named is what brings the table
// back; it is there before the table goes. The drop does not depend on it.
base::Task<void> finish_publication(base::RequestContext context, Catalog* catalog,
                                    const model::TableIdentifier* identifier) {
  auto settled = co_await catalog->views->remembered(context, *identifier);
  if (settled) co_return;
  catalog->log->for_request(context.request_id)
      .warning("a table is dropped before its last metadata file is there",
               {{"table", identifier->display()}, {"error", settled.error().message()}});
}

PurgeTools purge_tools(const Catalog& catalog) {
  return {catalog.upkeep, catalog.store, &*catalog.log};
}

}  // namespace

base::Task<base::Result<void>> drop_table(base::RequestContext context, Catalog* catalog,
                                          govern::Authorized<DropTable> request) {
  const bool purge = request->purge == Purge::kYes;
  co_await finish_publication(context, catalog, &request->identifier);
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
                                           govern::Authorized<DropTable> request) {
  if (request->purge == Purge::kNo) co_return base::Result<void>{};
  CO_RETURN_IF_ERROR(co_await finish_purges(context, purge_tools(*catalog), request->identifier));
  co_return base::Result<void>{};
}

}  // namespace lake::operation

#include "lakeproxy/objects/location_rules.h"
#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

constexpr std::size_t kMaxPurged = 10'000'000;

// The drop is committed: what cannot be removed now is logged and stays for
// the clean-up of orphans, since no table shows it any more.
base::Task<base::Status> remove_prefix(base::RequestContext context, Catalog* catalog,
                                       std::string location) {
  CO_ASSIGN_OR_RETURN(auto folder, objects::Location::parse(location + "/"));
  CO_ASSIGN_OR_RETURN(auto listed,
                      co_await catalog->store->list_all(context, folder.path(), kMaxPurged));
  std::vector<objects::ObjectKey> keys;
  for (const auto& object : listed) {
    keys.push_back(object.key);
  }
  CO_ASSIGN_OR_RETURN(auto failures, co_await catalog->store->remove_many(context, keys));
  if (!failures.empty()) {
    co_return base::fail(base::ErrorKind::kUnavailable, "some objects could not be removed");
  }
  co_return base::Status{};
}

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

}  // namespace

base::Task<base::Result<void>> drop_table(base::RequestContext context, Catalog* catalog,
                                          govern::Authorized<DropTable> request) {
  co_await finish_publication(context, catalog, &request->identifier);
  CO_ASSIGN_OR_RETURN(
      auto place,
      co_await catalog->writer->keyed(request.key()).drop_table(context, request->identifier));
  if (request->purge == Purge::kNo) co_return base::Result<void>{};
  // A table that was dropped and made again by DuckDB stands under the prefix
  // of its predecessor: what the lake's history still needs must not go.
  if (place.shared) {
    catalog->log->for_request(context.request_id)
        .warning("purge kept the files: another table has the same prefix",
                 {{"table", request->identifier.name}});
    co_return base::Result<void>{};
  }
  auto removed = co_await remove_prefix(context, catalog, place.location);
  if (!removed) {
    catalog->log->for_request(context.request_id)
        .error("purge left objects behind",
               {{"table", request->identifier.name}, {"error", removed.error().message()}});
  }
  co_return base::Result<void>{};
}

}  // namespace lake::operation

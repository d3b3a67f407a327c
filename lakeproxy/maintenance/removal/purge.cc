#include "lakeproxy/maintenance/removal/purge.h"

#include "lakeproxy/maintenance/removal/prefix_owner.h"

namespace lake::operation {
namespace {

using base::ErrorKind;

struct Page {
  std::vector<storage::ObjectKey> keys;
  std::vector<std::string> locations;  ///< Of `keys`, in their order.
  std::uint64_t younger = 0;           ///< Written after the drop.
};

Page page_of(const storage::ObjectStore& store, const storage::ListPage& listed,
             base::WallTime dropped_at) {
  Page page;
  for (const auto& object : listed.objects) {
    if (object.modified > dropped_at) {
      ++page.younger;
      continue;
    }
    page.locations.push_back("s3://" + store.bucket() + "/" + object.key.text());
    page.keys.push_back(object.key);
  }
  return page;
}

// What an open purge answers: the drop is done, so it must not look undone.
base::Error unfinished(const base::Error& error) {
  return base::fail(ErrorKind::kUnavailable,
                    "The table is dropped. Some of its files are not removed yet: ask again.")
      .with_detail(std::string(error.message()) + ": " + std::string(error.detail()));
}

base::Task<base::Result<bool>> remove_page(base::RequestContext context, const PurgeTools* tools,
                                           const ducklake::Purge* purge, Page page,
                                           Purged* purged) {
  CO_ASSIGN_OR_RETURN(auto bounds,
                      co_await tools->upkeep->purge_bounds(context, *purge, page.locations));
  if (bounds.shared) co_return false;
  std::vector<storage::ObjectKey> going;
  for (std::size_t i = 0; i < page.keys.size(); ++i) {
    if (!bounds.needed.contains(page.locations[i])) going.push_back(page.keys[i]);
  }
  purged->kept += page.younger + page.keys.size() - going.size();
  if (going.empty()) co_return true;
  purged->removed += going.size();
  CO_ASSIGN_OR_RETURN(auto failures, co_await tools->store->remove_many(context, std::move(going)));
  if (!failures.empty()) co_return std::move(failures.front().error);
  co_return true;
}

// False where the folder is another table's as well.
base::Task<base::Result<bool>> remove_folder(base::RequestContext context, const PurgeTools* tools,
                                             const ducklake::Purge* purge, Purged* purged) {
  CO_ASSIGN_OR_RETURN(auto folder, storage::Location::parse(purge->folder));
  if (folder.bucket() != tools->store->bucket() || folder.path().empty()) {
    co_return base::fail(ErrorKind::kCorrupt, "a table's folder is not in the lake's bucket");
  }
  std::string continuation;
  do {
    CO_ASSIGN_OR_RETURN(
        auto listed, co_await tools->store->list(context, folder.path(), std::move(continuation)));
    CO_ASSIGN_OR_RETURN(bool alone, co_await remove_page(
                                        context, tools, purge,
                                        page_of(*tools->store, listed, purge->dropped_at), purged));
    if (!alone) co_return false;
    continuation = std::move(listed.continuation);
  } while (!continuation.empty());
  co_return true;
}

base::Task<base::Result<Purged>> finish(base::RequestContext context, const PurgeTools* tools,
                                        ducklake::Purge purge) {
  Purged purged;
  CO_ASSIGN_OR_RETURN(bool alone, co_await remove_folder(context, tools, &purge, &purged));
  CO_RETURN_IF_ERROR(co_await tools->upkeep->end_purge(context, purge.table));
  base::log::Logger log = tools->log->for_request(context.request_id);
  base::log::Fields fields = {
      {"folder", purge.folder}, {"removed", purged.removed}, {"kept", purged.kept}};
  if (alone) {
    log.info("a dropped table's files are removed", fields);
  } else {
    log.warning("purge kept files: another table stands in the same folder", fields);
  }
  co_return purged;
}

}  // namespace

base::Task<base::Result<Purged>> finish_purges(base::RequestContext context, PurgeTools tools,
                                               std::optional<model::TableIdentifier> of) {
  CO_ASSIGN_OR_RETURN(auto purges, co_await tools.upkeep->purges(context, std::move(of)));
  Purged all;
  if (purges.empty()) co_return all;
  auto owned = co_await check_owner(context, {tools.upkeep, tools.store, tools.prefix});
  if (!owned && owned.error().kind() == ErrorKind::kConflict) co_return std::move(owned).error();
  if (!owned) co_return unfinished(owned.error());
  for (auto& purge : purges) {
    std::string folder = purge.folder;
    auto purged = co_await finish(context, &tools, std::move(purge));
    if (!purged) {
      tools.log->for_request(context.request_id)
          .error("a purge is not finished", {{"folder", folder},
                                             {"error", purged.error().message()},
                                             {"detail", purged.error().detail()}});
      co_return unfinished(purged.error());
    }
    all.removed += purged->removed;
    all.kept += purged->kept;
  }
  co_return all;
}

}  // namespace lake::operation

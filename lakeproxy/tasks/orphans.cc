#include "lakeproxy/tasks/orphans.h"

namespace lake::tasks {
namespace {

// A transaction that recorded a snapshot may have taken this long.
constexpr std::chrono::minutes kLongestRecord{5};

struct Candidates {
  std::vector<objects::ListedObject> objects;
  std::vector<std::string> locations;  // Of `objects`, in their order.
};

// Old enough, and named by no snapshot that was read at the start.
Candidates candidates_of(const OrphanTools& tools, const References& references,
                         objects::ListPage page, base::WallTime oldest) {
  Candidates candidates;
  for (auto& object : page.objects) {
    std::string location = "s3://" + tools.store->bucket() + "/" + object.key.text();
    if (object.modified > oldest || references.contains(location)) continue;
    candidates.objects.push_back(std::move(object));
    candidates.locations.push_back(std::move(location));
  }
  return candidates;
}

base::Task<base::Result<std::vector<objects::ListedObject>>> orphans_of(
    base::RequestContext context, const OrphanTools* tools, References* references,
    base::WallTime began, Candidates candidates) {
  std::vector<objects::ListedObject> orphans;
  if (candidates.objects.empty()) co_return orphans;
  CO_RETURN_IF_ERROR(co_await references->mark_recorded(context, began - kLongestRecord));
  CO_ASSIGN_OR_RETURN(auto named, co_await tools->upkeep->named(context, candidates.locations));
  for (std::size_t i = 0; i < candidates.objects.size(); ++i) {
    const std::string& location = candidates.locations[i];
    if (named.contains(location) || references->contains(location)) continue;
    orphans.push_back(std::move(candidates.objects[i]));
  }
  co_return orphans;
}

base::Task<base::Status> take(base::RequestContext context, const OrphanTools* tools,
                              const OrphanSearch* search,
                              std::vector<objects::ListedObject> orphans, OrphanCount* count) {
  std::vector<objects::ObjectKey> keys;
  for (const auto& orphan : orphans) {
    search->found(orphan);
    ++count->objects;
    count->bytes += orphan.size;
    keys.push_back(orphan.key);
  }
  if (search->removal == Removal::kDryRun || keys.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto failures, co_await tools->store->remove_many(context, std::move(keys)));
  count->failed += failures.size();
  for (const auto& failure : failures) {
    tools->log->warning("an orphan could not be removed",
                        {{"object", failure.key.text()}, {"error", failure.error.message()}});
  }
  co_return base::Status{};
}

}  // namespace

base::Task<base::Result<OrphanCount>> collect_orphans(base::RequestContext context,
                                                      OrphanTools tools, OrphanSearch search) {
  CO_ASSIGN_OR_RETURN(auto place, objects::Location::parse(search.prefix));
  const base::WallTime began = tools.clock->now();
  const base::WallTime oldest = began - search.grace;
  if (search.removal == Removal::kRemove) {
    CO_RETURN_IF_ERROR(co_await tools.upkeep->forget_expired(context, oldest));
  }
  References references(*tools.upkeep, *tools.manifests);
  CO_RETURN_IF_ERROR(co_await references.mark(context, oldest));
  for (const std::string& missing : references.missing()) {
    tools.log->warning("a published snapshot names an object that is gone", {{"object", missing}});
  }
  OrphanCount count;
  std::string continuation;
  do {
    CO_ASSIGN_OR_RETURN(auto page,
                        co_await tools.store->list(context, place.path(), std::move(continuation)));
    continuation = std::move(page.continuation);
    count.listed += page.objects.size();
    count.unnameable += page.unnameable;
    auto candidates = candidates_of(tools, references, std::move(page), oldest);
    CO_ASSIGN_OR_RETURN(auto orphans, co_await orphans_of(context, &tools, &references, began,
                                                          std::move(candidates)));
    CO_RETURN_IF_ERROR(co_await take(context, &tools, &search, std::move(orphans), &count));
  } while (!continuation.empty());
  co_return count;
}

}  // namespace lake::tasks

#include "lakeproxy/maintenance/removal/orphans.h"

#include <fmt/format.h>

#include "base/core/text.h"

namespace lake::maintenance {
namespace {

// A transaction that recorded a snapshot may have taken this long.
constexpr std::chrono::minutes kLongestRecord{5};

// What a page of objects is held against.
struct Bounds {
  std::string owner;
  base::WallTime oldest;  // No object is taken that is younger.
};

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// "00007-<content_hash()>.metadata.json", as to_iceberg/publish/loaded_table.cc names it.
bool is_own_metadata_file(std::string_view name) {
  constexpr std::string_view kEnd = ".metadata.json";
  constexpr std::size_t kHashDigits = 16;
  constexpr std::size_t kFewestDigits = 5;
  if (!name.ends_with(kEnd)) return false;
  name.remove_suffix(kEnd.size());
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos || dash < kFewestDigits) return false;
  const std::string_view hash = name.substr(dash + 1);
  return name.find_first_not_of("0123456789") == dash && hash.size() == kHashDigits && is_hex(hash);
}

// "ducklake-<UUID>.parquet" or "ducklake-<UUID>-delete.parquet".
bool is_duckdb_file(std::string_view name) {
  constexpr std::string_view kBegin = "ducklake-";
  constexpr std::size_t kUuidLength = 36;
  return name.starts_with(kBegin) && name.ends_with(".parquet") &&
         name.size() > kBegin.size() + kUuidLength &&
         base::parse_uuid(name.substr(kBegin.size(), kUuidLength)).has_value();
}

// Whether somebody who commits to a lake has written it, and neither a client
// before its commit nor a person.
bool is_written_by_a_lake(const std::string& key) {
  const std::string_view name = std::string_view(key).substr(key.find_last_of('/') + 1);
  return is_own_metadata_file(name) || is_duckdb_file(name);
}

struct Candidates {
  std::vector<storage::ListedObject> objects;
  std::vector<std::string> locations;  // Of `objects`, in their order.
};

// Old enough, and named by no snapshot that was read at the start.
Candidates candidates_of(const OrphanTools& tools, const References& references,
                         storage::ListPage page, const Bounds& bounds) {
  Candidates candidates;
  for (auto& object : page.objects) {
    std::string location = "s3://" + tools.store->bucket() + "/" + object.key.text();
    if (object.modified > bounds.oldest || location == bounds.owner ||
        references.contains(location)) {
      continue;
    }
    candidates.objects.push_back(std::move(object));
    candidates.locations.push_back(std::move(location));
  }
  return candidates;
}

base::Task<base::Result<std::vector<storage::ListedObject>>> orphans_of(
    base::RequestContext context, const OrphanTools* tools, References* references,
    base::WallTime began, Candidates candidates) {
  std::vector<storage::ListedObject> orphans;
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
                              std::vector<storage::ListedObject> orphans, OrphanCount* count) {
  std::vector<storage::ObjectKey> keys;
  for (const auto& orphan : orphans) {
    search->found(orphan);
    ++count->objects;
    count->bytes += orphan.size;
    keys.push_back(orphan.key);
  }
  if (search->removal == Removal::kShow || keys.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto failures, co_await tools->store->remove_many(context, std::move(keys)));
  count->failed += failures.size();
  for (const auto& failure : failures) {
    tools->log->warning("an orphan could not be removed",
                        {{"object", failure.key.text()}, {"error", failure.error.message()}});
  }
  co_return base::Status{};
}

// Goes through all orphans, page by page. `handle` is a Task<Status> of a page's.
template <class Handle>
base::Task<base::Status> each_page(base::RequestContext context, const OrphanTools* tools,
                                   References* references, const OrphanSearch* search,
                                   base::WallTime began, OrphanCount* count, Handle handle) {
  CO_ASSIGN_OR_RETURN(auto place, storage::Location::parse(search->prefix));
  const Bounds bounds{search->owner, began - search->grace};
  std::string continuation;
  do {
    CO_ASSIGN_OR_RETURN(
        auto page, co_await tools->store->list(context, place.path(), std::move(continuation)));
    continuation = std::move(page.continuation);
    count->listed += page.objects.size();
    count->unnameable += page.unnameable;
    auto candidates = candidates_of(*tools, *references, std::move(page), bounds);
    CO_ASSIGN_OR_RETURN(auto orphans, co_await orphans_of(context, tools, references, began,
                                                          std::move(candidates)));
    CO_RETURN_IF_ERROR(co_await handle(std::move(orphans)));
  } while (!continuation.empty());
  co_return base::Status{};
}

base::Task<base::Status> check_page(std::vector<storage::ListedObject> orphans,
                                    base::WallTime newest) {
  for (const auto& orphan : orphans) {
    if (orphan.modified <= newest || !is_written_by_a_lake(orphan.key.text())) continue;
    co_return base::fail(
        base::ErrorKind::kConflict,
        fmt::format("{} was written after the newest change that the database knows: the database "
                    "is older than the store, or the file is left of a write that failed since. "
                    "Nothing is removed. A commit to the lake ends this; after a backup was "
                    "restored for good, lakeproxy gc --take-over does",
                    orphan.key.text()));
  }
  co_return base::Status{};
}

base::Task<base::Status> check_store_is_not_newer(base::RequestContext context,
                                                  const OrphanTools* tools, References* references,
                                                  const OrphanSearch* search,
                                                  base::WallTime began) {
  CO_ASSIGN_OR_RETURN(auto newest, co_await tools->upkeep->newest_change(context));
  OrphanCount uncounted;
  auto check = [newest](std::vector<storage::ListedObject> orphans) {
    return check_page(std::move(orphans), newest + kLongestRecord);
  };
  co_return co_await each_page(context, tools, references, search, began, &uncounted, check);
}

}  // namespace

base::Task<base::Result<OrphanCount>> collect_orphans(base::RequestContext context,
                                                      OrphanTools tools, OrphanSearch search) {
  const base::WallTime began = tools.clock->now();
  const base::WallTime oldest = began - search.grace;
  const bool removes = search.removal == Removal::kRemove;
  References references(*tools.upkeep, *tools.manifests);
  CO_RETURN_IF_ERROR(co_await references.mark(context, oldest));
  for (const std::string& missing : references.missing()) {
    tools.log->warning("a published snapshot names an object that is gone", {{"object", missing}});
  }
  auto checked = co_await check_store_is_not_newer(context, &tools, &references, &search, began);
  if (!checked && (removes || checked.error().kind() != base::ErrorKind::kConflict)) {
    co_return std::move(checked).error();
  }
  if (!checked) tools.log->warning(checked.error().message());
  if (removes) {
    CO_RETURN_IF_ERROR(co_await tools.upkeep->forget_expired(context, oldest));
  }
  OrphanCount count;
  auto handle = [&](std::vector<storage::ListedObject> orphans) {
    return take(context, &tools, &search, std::move(orphans), &count);
  };
  CO_RETURN_IF_ERROR(
      co_await each_page(context, &tools, &references, &search, began, &count, handle));
  co_return count;
}

}  // namespace lake::maintenance

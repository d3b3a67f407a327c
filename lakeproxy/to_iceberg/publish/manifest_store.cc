#include "lakeproxy/to_iceberg/publish/manifest_store.h"

#include "base/runtime/gather.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::publish {
namespace {

base::Task<base::Result<storage::PutOutcome>> put_one(base::RequestContext context,
                                                      storage::ObjectStore* store,
                                                      materialize::NewObject object) {
  CO_ASSIGN_OR_RETURN(auto key, storage::key_in(store->bucket(), object.location));
  bool json = object.location.ends_with(".json");
  co_return co_await store->put_if_absent(context, key, base::http::Body(std::move(object.bytes)),
                                          json ? "application/json" : "application/octet-stream",
                                          std::move(object.sha256));
}

// Estimates of what a value takes in memory; what allocations cost beside it is in these.
constexpr std::size_t kAllocation = 16;
constexpr std::size_t kMapNode = 4 * sizeof(void*) + kAllocation;

std::size_t bytes_of(const std::optional<std::string>& text) {
  return text && text->capacity() > std::string().capacity() ? text->capacity() + kAllocation : 0;
}

std::size_t bytes_of(const model::DataFile& file) {
  std::size_t bytes = file.file_path.capacity() + kAllocation +
                      bytes_of(file.referenced_data_file) + bytes_of(file.key_metadata);
  bytes += file.partition.capacity() * sizeof(file.partition[0]);
  bytes += file.split_offsets.capacity() * sizeof(file.split_offsets[0]);
  for (const auto& [id, metrics] : file.metrics) {
    bytes += sizeof(std::pair<const model::FieldId, model::ColumnMetrics>) + kMapNode +
             bytes_of(metrics.lower_bound) + bytes_of(metrics.upper_bound);
  }
  return bytes;
}

std::size_t bytes_of(const std::vector<model::ManifestEntry>& entries) {
  std::size_t bytes = sizeof(entries) + kAllocation;
  for (const auto& entry : entries) bytes += sizeof(entry) + bytes_of(entry.data_file);
  return bytes;
}

std::size_t bytes_of(const std::vector<model::ManifestFile>& list) {
  std::size_t bytes = sizeof(list) + kAllocation;
  for (const auto& file : list) {
    bytes += sizeof(file) + file.manifest_path.capacity() + kAllocation;
    for (const auto& summary : file.partitions) {
      bytes += sizeof(summary) + bytes_of(summary.lower_bound) + bytes_of(summary.upper_bound);
    }
  }
  return bytes;
}

CacheLimits within(std::size_t bytes) {
  return {.values = std::numeric_limits<std::size_t>::max(), .bytes = bytes};
}

}  // namespace

ManifestCache::ManifestCache(std::size_t bytes)
    : manifests(within(bytes / 8 * 7)), lists(within(bytes / 8)) {}

ManifestCache::ManifestCache(std::size_t bytes, base::metrics::Registry& metrics)
    : ManifestCache(bytes) {
  auto entries = [&](const char* kind) {
    return metrics.gauge("lakeproxy_manifest_cache_entries",
                         "Manifests and manifest lists that are kept in memory.", {{"kind", kind}});
  };
  auto size = [&](const char* kind) {
    return metrics.gauge("lakeproxy_manifest_cache_bytes",
                         "Memory of the manifests and manifest lists that are kept, estimated.",
                         {{"kind", kind}});
  };
  manifests.show_on(entries("manifest"), size("manifest"));
  lists.show_on(entries("list"), size("list"));
}

base::Task<base::Result<std::string>> ManifestStore::bytes(base::RequestContext context,
                                                           std::string location) {
  CO_ASSIGN_OR_RETURN(auto key, storage::key_in(store_->bucket(), location));
  co_return co_await store_->get(context, key);
}

base::Task<base::Result<ManifestList>> ManifestStore::list(base::RequestContext context,
                                                           std::string location) {
  if (auto held = cache_->lists.get(location)) co_return *held;
  CO_ASSIGN_OR_RETURN(auto text, co_await bytes(context, location));
  CO_ASSIGN_OR_RETURN(auto files, co_await decoder().list(std::move(text)));
  auto list = std::make_shared<const std::vector<model::ManifestFile>>(std::move(files));
  cache_->lists.put(location, list, bytes_of(*list));
  co_return ManifestList(list);
}

base::Task<base::Result<materialize::Entries>> ManifestStore::entries(base::RequestContext context,
                                                                      std::string location) {
  if (auto held = cache_->manifests.get(location)) co_return *held;
  CO_ASSIGN_OR_RETURN(auto text, co_await bytes(context, location));
  CO_ASSIGN_OR_RETURN(auto manifest, co_await decoder().manifest(std::move(text)));
  auto entries =
      std::make_shared<const std::vector<model::ManifestEntry>>(std::move(manifest.entries));
  cache_->manifests.put(location, entries, bytes_of(*entries));
  co_return materialize::Entries(entries);
}

base::Task<base::Status> ManifestStore::put(base::RequestContext context,
                                            std::vector<materialize::NewObject> objects) {
  std::vector<base::Task<base::Result<storage::PutOutcome>>> puts;
  for (auto& object : objects) puts.push_back(put_one(context, store_, std::move(object)));
  for (auto& outcome : co_await base::gather(std::move(puts))) {
    if (!outcome) co_return std::move(outcome).error();
  }
  co_return base::Status{};
}

void ManifestStore::remember(const materialize::BuiltSnapshot& built) {
  std::vector<model::ManifestFile> files;
  for (const auto& listed : built.list) {
    files.push_back(listed.manifest);
    if (listed.entries) {
      cache_->manifests.put(listed.manifest.manifest_path, listed.entries,
                            bytes_of(*listed.entries));
    }
  }
  auto list = std::make_shared<const std::vector<model::ManifestFile>>(std::move(files));
  cache_->lists.put(built.snapshot.manifest_list, list, bytes_of(*list));
}

}  // namespace lake::publish

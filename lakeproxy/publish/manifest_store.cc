#include "lakeproxy/publish/manifest_store.h"

#include "base/runtime/gather.h"
#include "lakeproxy/materialize/manifest/manifest_reader.h"
#include "lakeproxy/objects/location_rules.h"

namespace lake::publish {
namespace {

base::Task<base::Result<objects::PutOutcome>> put_one(base::RequestContext context,
                                                      objects::ObjectStore* store,
                                                      materialize::NewObject object) {
  CO_ASSIGN_OR_RETURN(auto key, objects::key_in(store->bucket(), object.location));
  bool json = object.location.ends_with(".json");
  co_return co_await store->put_if_absent(context, key, base::http::Body(std::move(object.bytes)),
                                          json ? "application/json" : "application/octet-stream");
}

}  // namespace

base::Task<base::Result<std::string>> ManifestStore::bytes(base::RequestContext context,
                                                           std::string location) {
  CO_ASSIGN_OR_RETURN(auto key, objects::key_in(store_->bucket(), location));
  co_return co_await store_->get(context, key);
}

base::Task<base::Result<ManifestList>> ManifestStore::list(base::RequestContext context,
                                                           std::string location) {
  if (auto held = cache_->lists.get(location)) co_return *held;
  CO_ASSIGN_OR_RETURN(auto text, co_await bytes(context, location));
  CO_ASSIGN_OR_RETURN(auto files, materialize::read_manifest_list(text, {}, &schemas()));
  auto list = std::make_shared<const std::vector<model::ManifestFile>>(std::move(files));
  cache_->lists.put(location, list, list->size() + 1);
  co_return ManifestList(list);
}

base::Task<base::Result<materialize::Entries>> ManifestStore::entries(base::RequestContext context,
                                                                      std::string location) {
  if (auto held = cache_->manifests.get(location)) co_return *held;
  CO_ASSIGN_OR_RETURN(auto text, co_await bytes(context, location));
  CO_ASSIGN_OR_RETURN(auto manifest, materialize::read_manifest(text, {}, &schemas()));
  auto entries =
      std::make_shared<const std::vector<model::ManifestEntry>>(std::move(manifest.entries));
  cache_->manifests.put(location, entries, entries->size() + 1);
  co_return materialize::Entries(entries);
}

base::Task<base::Status> ManifestStore::put(base::RequestContext context,
                                            std::vector<materialize::NewObject> objects) {
  std::vector<base::Task<base::Result<objects::PutOutcome>>> puts;
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
                            listed.entries->size() + 1);
    }
  }
  auto list = std::make_shared<const std::vector<model::ManifestFile>>(std::move(files));
  cache_->lists.put(built.snapshot.manifest_list, list, list->size() + 1);
}

}  // namespace lake::publish

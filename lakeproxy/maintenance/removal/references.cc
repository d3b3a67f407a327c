#include "lakeproxy/maintenance/removal/references.h"

#include <set>

#include "base/runtime/gather.h"

namespace lake::maintenance {
namespace {

constexpr base::AtOnce kReadsAtOnce{16};

// What we export stands beside the metadata; data files are rows of the lake.
bool is_export(const std::string& location) {
  return location.find("/metadata/") != std::string::npos;
}

// Null where there is no such object.
base::Task<base::Result<publish::ManifestList>> read_list(base::RequestContext context,
                                                          publish::ManifestStore* store,
                                                          std::string location) {
  auto list = co_await store->list(context, std::move(location));
  if (!list && list.error().kind() == base::ErrorKind::kNotFound) co_return publish::ManifestList();
  co_return list;
}

// The same.
base::Task<base::Result<materialize::Entries>> read_manifest(base::RequestContext context,
                                                             publish::ManifestStore* store,
                                                             std::string location) {
  auto entries = co_await store->entries(context, std::move(location));
  if (!entries && entries.error().kind() == base::ErrorKind::kNotFound) {
    co_return materialize::Entries();
  }
  co_return entries;
}

}  // namespace

base::Task<base::Status> References::mark(base::RequestContext context, base::WallTime since) {
  ducklake::ListMark after;
  for (;;) {
    CO_ASSIGN_OR_RETURN(auto lists, co_await upkeep_->manifest_lists(context, &after));
    if (lists.empty()) break;
    CO_RETURN_IF_ERROR(co_await mark_lists(context, std::move(lists)));
  }
  CO_ASSIGN_OR_RETURN(auto superseded, co_await upkeep_->lists_superseded(context, since));
  co_return co_await mark_lists(context, std::move(superseded));
}

base::Task<base::Status> References::mark_recorded(base::RequestContext context,
                                                   base::WallTime since) {
  CO_ASSIGN_OR_RETURN(auto lists, co_await upkeep_->lists_recorded(context, since));
  co_return co_await mark_lists(context, std::move(lists));
}

// The lists first, side by side, then the manifests that no list before has named.
base::Task<base::Status> References::mark_lists(base::RequestContext context,
                                                std::vector<std::string> lists) {
  std::erase_if(lists, [&](const std::string& list) { return contains(list); });
  std::set<std::string> fresh;
  auto read = [&](std::size_t i) { return read_list(context, manifests_, lists[i]); };
  auto mark = [&](std::size_t i, const publish::ManifestList& list) {
    named_.insert(storage::canonical(lists[i]));
    if (list == nullptr) {
      missing_.push_back(lists[i]);
      return base::Status{};
    }
    for (const auto& manifest : *list) {
      if (!contains(manifest.manifest_path)) fresh.insert(manifest.manifest_path);
    }
    return base::Status{};
  };
  CO_RETURN_IF_ERROR(co_await base::gather_few(kReadsAtOnce, lists.size(), read, mark));
  co_return co_await mark_manifests(context, {fresh.begin(), fresh.end()});
}

base::Task<base::Status> References::mark_manifests(base::RequestContext context,
                                                    std::vector<std::string> manifests) {
  auto read = [&](std::size_t i) { return read_manifest(context, manifests_, manifests[i]); };
  auto mark = [&](std::size_t i, const materialize::Entries& entries) {
    mark_manifest(manifests[i], entries);
    return base::Status{};
  };
  co_return co_await base::gather_few(kReadsAtOnce, manifests.size(), read, mark);
}

void References::mark_manifest(const std::string& location, const materialize::Entries& entries) {
  named_.insert(storage::canonical(location));
  if (entries == nullptr) {
    missing_.push_back(location);
    return;
  }
  for (const auto& entry : *entries) {
    const std::string& file = entry.data_file.file_path;
    if (entry.status != model::EntryStatus::kDeleted && is_export(file)) {
      named_.insert(storage::canonical(file));
    }
  }
}

}  // namespace lake::maintenance

#include "lakeproxy/tasks/references.h"

#include "base/runtime/gather.h"

namespace lake::tasks {
namespace {

constexpr std::size_t kAtOnce = 16;

// What we export stands beside the metadata; data files are rows of the lake.
bool is_export(const std::string& location) {
  return location.find("/metadata/") != std::string::npos;
}

struct Read {
  std::string location;
  publish::ManifestList list;    // Of a list.
  materialize::Entries entries;  // Of a manifest.
};

base::Task<base::Result<Read>> read_manifest(base::RequestContext context,
                                             publish::ManifestStore* store, std::string location) {
  auto entries = co_await store->entries(context, location);
  if (entries) co_return Read{std::move(location), nullptr, std::move(*entries)};
  if (entries.error().kind() != base::ErrorKind::kNotFound) co_return std::move(entries).error();
  co_return Read{std::move(location), nullptr, nullptr};
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

base::Task<base::Status> References::mark_lists(base::RequestContext context,
                                                std::vector<std::string> lists) {
  for (const std::string& list : lists) {
    if (named_.contains(list)) continue;
    CO_RETURN_IF_ERROR(co_await mark_list(context, &list));
    named_.insert(list);
  }
  co_return base::Status{};
}

base::Task<base::Status> References::mark_list(base::RequestContext context,
                                               const std::string* location) {
  auto list = co_await manifests_->list(context, *location);
  if (!list) {
    if (list.error().kind() != base::ErrorKind::kNotFound) co_return std::move(list).error();
    missing_.push_back(*location);
    co_return base::Status{};
  }
  std::vector<std::string> fresh;
  for (const auto& manifest : **list) {
    if (!named_.contains(manifest.manifest_path)) fresh.push_back(manifest.manifest_path);
  }
  co_return co_await mark_manifests(context, std::move(fresh));
}

base::Task<base::Status> References::mark_manifests(base::RequestContext context,
                                                    std::vector<std::string> manifests) {
  for (std::size_t begin = 0; begin < manifests.size(); begin += kAtOnce) {
    std::vector<base::Task<base::Result<Read>>> few;
    for (std::size_t i = begin; i < manifests.size() && few.size() < kAtOnce; ++i) {
      few.push_back(read_manifest(context, manifests_, manifests[i]));
    }
    for (auto& read : co_await base::gather(std::move(few))) {
      if (!read) co_return std::move(read).error();
      named_.insert(read->location);
      if (!read->entries) {
        missing_.push_back(read->location);
        continue;
      }
      for (const auto& entry : *read->entries) {
        const std::string& file = entry.data_file.file_path;
        if (entry.status != model::EntryStatus::kDeleted && is_export(file)) named_.insert(file);
      }
    }
  }
  co_return base::Status{};
}

}  // namespace lake::tasks

#include <algorithm>

#include "toolserver/connectors/files/file_store.h"
#include "toolserver/connectors/files/sweep.h"

namespace tool::files {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Status;

// Names held at once, over all open levels of a recursive listing.
constexpr std::size_t kMostNames = 200'000;
constexpr std::size_t kPageNameBytes = 1 << 20;
constexpr std::size_t kVisitsPerCheck = 256;

// What is left of the cursor's path below the folder being listed.
using Rest = std::span<const std::string>;

class Lister {
 public:
  Lister(const PathResolver& resolver, const NameRules& rules, const ListRequest& request,
         std::size_t most, const Watch& watch, const Visited& visited)
      : resolver_(resolver),
        rules_(rules),
        request_(request),
        most_(most),
        watch_(watch),
        visited_(visited) {}

  Status folder(int fd, const RelativePath& path, Rest after);
  ListAnswer take() { return std::move(answer_); }

 private:
  Result<std::vector<std::string>> shown_names(int fd);
  Status entry(int fd, const RelativePath& path, Rest after);
  Status descend(int fd, const RelativePath& path, Rest after);
  Status count_visit();
  bool add(const RelativePath& path, const FileFacts& facts);
  bool shown(const RelativePath& path, const FileFacts& facts) const;

  const PathResolver& resolver_;
  const NameRules& rules_;
  const ListRequest& request_;
  std::size_t most_;
  const Watch& watch_;
  const Visited& visited_;
  ListAnswer answer_;
  std::size_t names_held_ = 0;
  std::size_t name_bytes_ = 0;
  std::uint64_t visits_ = 0;
};

// False when the page is full.
bool Lister::add(const RelativePath& path, const FileFacts& facts) {
  std::size_t bytes = path.text().size();
  if (answer_.entries.size() == most_ || name_bytes_ + bytes > kPageNameBytes) {
    answer_.complete = false;
    return false;
  }
  name_bytes_ += bytes;
  answer_.entries.push_back({path, facts});
  return true;
}

Status Lister::count_visit() {
  if (++visits_ % kVisitsPerCheck != 0) return {};
  if (visited_) visited_(visits_);
  return watch_.check();
}

// What read would refuse is not shown.
bool Lister::shown(const RelativePath& path, const FileFacts& facts) const {
  if (facts.kind == FileKind::kFolder) return true;
  return rules_.allows_file(path.leaf()) && require_plain_file(facts).has_value();
}

Result<std::vector<std::string>> Lister::shown_names(int fd) {
  ASSIGN_OR_RETURN(auto names, names_in(fd, kMostNames - names_held_));
  std::erase_if(names, [&](const auto& name) { return !rules_.allows_segment(name); });
  std::ranges::sort(names);
  return names;
}

Status Lister::descend(int fd, const RelativePath& path, Rest after) {
  auto inner = resolver_.open_folder_in(fd, path.leaf());
  if (!inner) {
    // Unreadable, or not a folder any more: shown, but not entered.
    bool passing = inner.error().kind() == ErrorKind::kForbidden ||
                   inner.error().kind() == ErrorKind::kNotFound;
    return passing ? Status{} : Status(std::move(inner).error());
  }
  return folder(inner->fd.get(), path, after);
}

Status Lister::entry(int fd, const RelativePath& path, Rest after) {
  auto seen = resolver_.look_in(fd, path.leaf());
  if (!seen) {
    bool passing =
        seen.error().kind() == ErrorKind::kForbidden || seen.error().kind() == ErrorKind::kNotFound;
    return passing ? Status{} : Status(std::move(seen).error());
  }
  bool passed = !after.empty() && path.leaf() == after.front();
  if (!passed && shown(path, seen->facts) && !add(path, seen->facts)) return {};
  if (request_.recursion == Recursion::kNo || seen->facts.kind != FileKind::kFolder) return {};
  return descend(fd, path, passed ? after.subspan(1) : Rest{});
}

Status Lister::folder(int fd, const RelativePath& path, Rest after) {
  ASSIGN_OR_RETURN(auto names, shown_names(fd));
  names_held_ += names.size();
  for (const auto& name : names) {
    RETURN_IF_ERROR(count_visit());
    if (!after.empty() && name < after.front()) continue;
    auto child = path.child(name);
    if (child) RETURN_IF_ERROR(entry(fd, *child, after));
    if (!answer_.complete) break;
  }
  names_held_ -= names.size();
  return {};
}

// The part of the cursor below the listed folder. Errors: kInvalid  it lies
// elsewhere.
Result<Rest> rest_of(const ListRequest& request) {
  if (!request.after) return Rest{};
  const auto& folder = request.folder.segments();
  Rest after = request.after->segments();
  if (after.size() <= folder.size() || !std::ranges::equal(after.first(folder.size()), folder)) {
    return fail(ErrorKind::kInvalid, "cursor: not of this listing");
  }
  return after.subspan(folder.size());
}

}  // namespace

Result<ListAnswer> FileStore::list(const ListRequest& request, const Watch& watch,
                                   const Visited& visited) const {
  RETURN_IF_ERROR(check_folder_name(request.folder));
  RETURN_IF_ERROR(watch.check());
  ASSIGN_OR_RETURN(Rest after, rest_of(request));
  ASSIGN_OR_RETURN(Opened folder, resolver_.open_folder(request.folder));
  Lister lister(resolver_, rules_, request, options_.list_cap, watch, visited);
  RETURN_IF_ERROR(lister.folder(folder.fd.get(), request.folder, after));
  return lister.take();
}

}  // namespace tool::files

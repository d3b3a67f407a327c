#include "toolserver/connectors/files/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace tool::files {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Status;

constexpr std::size_t kMostEntries = 2'000'000;

struct Sweeper {
  const PathResolver* resolver;
  Permission writing;
  StartReport* report;
  std::size_t left = kMostEntries;

  Status folder(int fd, std::size_t depth);
  Status entry(int folder_fd, const std::string& name, std::size_t depth);
};

// A writer holds a lock on its file for as long as it lives.
bool abandoned(int folder, const std::string& name) {
  base::files::Descriptor fd(
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

Status Sweeper::entry(int folder_fd, const std::string& name, std::size_t depth) {
  auto facts = facts_at(folder_fd, name);
  if (!facts) return {};  // Gone meanwhile.
  if (facts->kind == FileKind::kFolder && depth < PathLimits::kDepth) {
    auto inner = resolver->open_folder_in(folder_fd, name);
    return inner ? folder(inner->fd.get(), depth + 1) : Status{};
  }
  if (facts->kind != FileKind::kFile) return {};
  if (writing == Permission::kAllowed && is_temporary_name(name) && abandoned(folder_fd, name)) {
    if (::unlinkat(folder_fd, name.c_str(), 0) == 0) ++report->removed;
    return {};
  }
  ++report->files;
  report->bytes += facts->size;
  return {};
}

Status Sweeper::folder(int fd, std::size_t depth) {
  ASSIGN_OR_RETURN(auto names, names_in(fd, left));
  left -= names.size();
  for (const auto& name : names) RETURN_IF_ERROR(entry(fd, name, depth));
  return {};
}

}  // namespace

Result<std::vector<std::string>> names_in(int folder, std::size_t most) {
  base::files::Descriptor copy(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return system_error(errno);
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy.get()), &::closedir);
  if (!stream) return system_error(errno);
  (void)copy.release();  // The stream closes it.
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == most) return fail(ErrorKind::kTooLarge, "the folder has too many entries");
    names.emplace_back(name);
  }
  if (errno != 0) return system_error(errno);
  return names;
}

Status sweep(const PathResolver& resolver, Permission writing, StartReport& report) {
  Sweeper sweeper{&resolver, writing, &report};
  ASSIGN_OR_RETURN(Opened root, resolver.open_folder(RelativePath::root()));
  return sweeper.folder(root.fd.get(), 0);
}

}  // namespace tool::files

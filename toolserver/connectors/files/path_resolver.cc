#include "toolserver/connectors/files/path_resolver.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

namespace tool::files {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Status;

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY;
// O_NONBLOCK: should a pipe slip in between look and open, nothing waits on it.
constexpr int kFileFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
constexpr std::uint64_t kResolve =
    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
// The kernel answers EAGAIN when a rename ran under its lookup, and a file may
// be replaced between two of our steps: both are tried again.
constexpr int kTries = 16;

int call_openat2(int from, const char* path, int flags) {
  struct open_how how{};
  // Not O_NOFOLLOW: RESOLVE_NO_SYMLINKS says more, and together with
  // O_DIRECTORY a link would look like a missing folder.
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = kResolve;
  for (int left = kTries; left > 0; --left) {
    long fd = ::syscall(SYS_openat2, from, path, &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return -1;
}

base::files::Descriptor open_step(int from, const std::string& name, int flags) {
  return base::files::Descriptor(::openat(from, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
}

bool has_openat2(int root) {
  return base::files::Descriptor(call_openat2(root, ".", O_PATH | O_DIRECTORY)).valid();
}

std::string joined(std::span<const std::string> segments) {
  std::string out;
  for (const auto& segment : segments) {
    if (!out.empty()) out += '/';
    out += segment;
  }
  return out;
}

base::Error changed() { return fail(ErrorKind::kConflict, "the file has just changed"); }

// Runs `open` until what it looked at stays the same under it.
template <class Open>
Result<Opened> until_stable(Open open) {
  for (int left = kTries; left > 0; --left) {
    Result<Opened> opened = open();
    if (opened || opened.error().kind() != ErrorKind::kConflict) return opened;
  }
  return fail(ErrorKind::kUnavailable, "the file changes too often; retry");
}

// An operator's path: the rules for strangers' paths do not apply.
bool is_root_path(const std::string& path) {
  return path.starts_with('/') && path.find_first_not_of('/') != path.npos &&
         path.find('\0') == path.npos && (path + "/").find("/../") == path.npos;
}

}  // namespace

std::string_view name(Mechanism mechanism) {
  return mechanism == Mechanism::kOpenat2 ? "openat2" : "walk";
}

Status require_plain_file(const FileFacts& facts) {
  if (facts.kind == FileKind::kFolder) return fail(ErrorKind::kUnsupported, "this is a folder");
  if (facts.kind != FileKind::kFile) return not_allowed("not a regular file");
  if (facts.links == 0) return changed();
  if (facts.links > 1) return not_allowed("the file has a second name");
  return {};
}

Result<PathResolver> PathResolver::open(const std::string& root, MechanismChoice choice) {
  if (!is_root_path(root)) {
    return fail(ErrorKind::kInvalid, "root: must be the absolute path of a folder below \"/\"");
  }
  base::files::Descriptor fd(::open(root.c_str(), kFolderFlags | O_CLOEXEC));
  if (!fd.valid()) {
    return fail(ErrorKind::kInvalid, "root: cannot be opened as a folder")
        .with_detail(std::strerror(errno));
  }
  ASSIGN_OR_RETURN(FileFacts facts, facts_of(fd.get()));
  Mechanism mechanism = Mechanism::kWalk;
  if (choice != MechanismChoice::kWalk && has_openat2(fd.get())) mechanism = Mechanism::kOpenat2;
  if (choice == MechanismChoice::kOpenat2 && mechanism != Mechanism::kOpenat2) {
    return fail(ErrorKind::kUnsupported, "this kernel does not offer openat2");
  }
  return PathResolver(std::move(fd), facts, mechanism);
}

Result<Opened> PathResolver::checked(base::files::Descriptor fd) const {
  ASSIGN_OR_RETURN(FileFacts facts, facts_of(fd.get()));
  if (facts.kind == FileKind::kLink) return not_allowed("a symbolic link");
  if (!same_mount(facts, root_facts_)) return not_allowed("another mount");
  return Opened{std::move(fd), facts};
}

// Looks at each component before it is entered, so that a link is told from a
// file, and opens the last one only when it is still what was looked at.
Result<Opened> PathResolver::walk(int from, std::span<const std::string> segments,
                                  int flags) const {
  Opened current;
  for (const auto& segment : segments) {
    int at = current.fd.valid() ? current.fd.get() : from;
    base::files::Descriptor next = open_step(at, segment, O_PATH);
    if (!next.valid()) return system_error(errno);
    ASSIGN_OR_RETURN(Opened step, checked(std::move(next)));
    bool last = &segment == &segments.back();
    bool folder_needed = !last || (flags & O_DIRECTORY) != 0;
    if (folder_needed && step.facts.kind != FileKind::kFolder) return system_error(ENOTDIR);
    if (last && (flags & O_PATH) == 0) {
      base::files::Descriptor opened = open_step(at, segment, flags);
      if (!opened.valid()) return system_error(errno);
      ASSIGN_OR_RETURN(Opened end, checked(std::move(opened)));
      if (!same_file(end.facts, step.facts)) return changed();
      return end;
    }
    current = std::move(step);
  }
  return current;
}

Result<Opened> PathResolver::open_beneath(int from, std::span<const std::string> segments,
                                          int flags) const {
  if (segments.empty()) {
    base::files::Descriptor fd = open_step(from, ".", flags);
    if (!fd.valid()) return system_error(errno);
    return checked(std::move(fd));
  }
  if (mechanism_ == Mechanism::kWalk) {
    return until_stable([&] { return walk(from, segments, flags); });
  }
  base::files::Descriptor fd(call_openat2(from, joined(segments).c_str(), flags));
  if (!fd.valid()) return system_error(errno);
  return checked(std::move(fd));
}

Result<Opened> PathResolver::open_folder(const RelativePath& path) const {
  return open_beneath(root_.get(), path.segments(), kFolderFlags);
}

Result<Opened> PathResolver::open_folder_in(int folder, const std::string& name) const {
  return open_beneath(folder, std::span(&name, 1), kFolderFlags);
}

Result<Opened> PathResolver::look_in(int folder, const std::string& name) const {
  ASSIGN_OR_RETURN(Opened found, open_beneath(folder, std::span(&name, 1), O_PATH));
  if (found.facts.kind == FileKind::kOther) return not_allowed("neither file nor folder");
  return found;
}

Result<Opened> PathResolver::open_file_in(int folder, const std::string& name) const {
  return until_stable([&]() -> Result<Opened> {
    ASSIGN_OR_RETURN(Opened seen, look_in(folder, name));
    RETURN_IF_ERROR(require_plain_file(seen.facts));
    ASSIGN_OR_RETURN(Opened file, open_beneath(folder, std::span(&name, 1), kFileFlags));
    if (!same_file(file.facts, seen.facts)) return changed();
    RETURN_IF_ERROR(require_plain_file(file.facts));
    return file;
  });
}

}  // namespace tool::files

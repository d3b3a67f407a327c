#include "base/files/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files/descriptor.h"

namespace base::files {
namespace {

namespace fs = std::filesystem;

Error refused(const fs::path& path) {
  return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

bool leave_to_owner_of(const fs::path& folder, int fd) {
  if (::geteuid() != 0) return true;
  struct stat facts{};
  return ::stat(folder.c_str(), &facts) == 0 && ::fchown(fd, facts.st_uid, facts.st_gid) == 0;
}

Status write_part(const fs::path& part, std::string_view text, Durability durability) {
  // One that was left behind may have another mode, or lead elsewhere.
  if (::unlink(part.c_str()) != 0 && errno != ENOENT) return refused(part);
  Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid() || !leave_to_owner_of(part.parent_path(), file.get()) ||
      !write_all(file.get(), text)) {
    return refused(part);
  }
  if (durability == Durability::kSynced && ::fsync(file.get()) != 0) return refused(part);
  return {};
}

}  // namespace

Status replace_private_file(const fs::path& path, std::string_view text, Durability durability) {
  fs::path part = path;
  part += ".part";
  RETURN_IF_ERROR(write_part(part, text, durability));
  if (::rename(part.c_str(), path.c_str()) != 0) return refused(path);
  if (durability == Durability::kWritten) return {};
  Descriptor folder(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || ::fsync(folder.get()) != 0) return refused(path.parent_path());
  return {};
}

Result<std::string> read_whole(int fd, std::size_t limit) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) return fail(ErrorKind::kUnavailable, std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return fail(ErrorKind::kCorrupt, "must be a regular file");
  if (static_cast<std::size_t>(facts.st_size) > limit) {
    return fail(ErrorKind::kTooLarge, fmt::format("must be at most {} bytes", limit));
  }
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    ssize_t got = ::read(fd, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorKind::kUnavailable, std::strerror(errno));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

}  // namespace base::files

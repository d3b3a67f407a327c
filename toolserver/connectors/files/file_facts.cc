#include "toolserver/connectors/files/file_facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>

namespace tool::files {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;

// Since Linux 5.8; the C library's header may be older than the kernel.
constexpr unsigned kMountId = 0x1000;

FileKind kind_of(unsigned mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return FileKind::kFile;
    case S_IFDIR: return FileKind::kFolder;
    case S_IFLNK: return FileKind::kLink;
    default: return FileKind::kOther;
  }
}

base::WallTime time_of(const struct statx_timestamp& time) {
  return base::WallTime(std::chrono::seconds(time.tv_sec) +
                        std::chrono::microseconds(time.tv_nsec / 1000));
}

Result<FileFacts> facts(int fd, const char* name, int flags) {
  struct statx found{};
  if (::statx(fd, name, flags | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | kMountId,
              &found) != 0) {
    return system_error(errno);
  }
  FileFacts out;
  out.kind = kind_of(found.stx_mode);
  out.size = out.kind == FileKind::kFile ? found.stx_size : 0;
  out.links = found.stx_nlink;
  out.mode = found.stx_mode & 07777U;
  out.inode = found.stx_ino;
  out.device = makedev(found.stx_dev_major, found.stx_dev_minor);
  if ((found.stx_mask & kMountId) != 0) out.mount = found.stx_mnt_id;
  out.modified = time_of(found.stx_mtime);
  return out;
}

ErrorKind kind_of_errno(int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR: return ErrorKind::kNotFound;
    case EEXIST: return ErrorKind::kAlreadyExists;
    case ELOOP:
    case EXDEV:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENXIO:
    case ENODEV:
    case ETXTBSY:
    case ENAMETOOLONG: return ErrorKind::kForbidden;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ErrorKind::kTooLarge;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN: return ErrorKind::kUnavailable;
    default: return ErrorKind::kInternal;
  }
}

}  // namespace

Result<FileFacts> facts_of(int fd) { return facts(fd, "", AT_EMPTY_PATH); }

Result<FileFacts> facts_at(int folder, const std::string& name) {
  return facts(folder, name.c_str(), 0);
}

bool same_file(const FileFacts& a, const FileFacts& b) {
  return a.inode == b.inode && a.device == b.device && a.kind == b.kind;
}

bool same_mount(const FileFacts& a, const FileFacts& b) {
  if (a.mount && b.mount) return *a.mount == *b.mount;
  return a.device == b.device;
}

base::Error system_error(int code) {
  ErrorKind kind = kind_of_errno(code);
  std::string detail = std::strerror(code);
  switch (kind) {
    case ErrorKind::kNotFound: return fail(kind, "no such file or folder").with_detail(detail);
    case ErrorKind::kAlreadyExists: return fail(kind, "the name is taken").with_detail(detail);
    case ErrorKind::kForbidden: return not_allowed(detail);
    case ErrorKind::kTooLarge: return fail(kind, "no room for this file").with_detail(detail);
    case ErrorKind::kUnavailable: return fail(kind, "out of resources; retry").with_detail(detail);
    default: return fail(kind, "the file system failed").with_detail(detail);
  }
}

base::Error not_allowed(std::string detail) {
  return fail(ErrorKind::kForbidden, "this path is not allowed").with_detail(std::move(detail));
}

}  // namespace tool::files

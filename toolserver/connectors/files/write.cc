#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "toolserver/connectors/files/file_store.h"

namespace tool::files {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Status;

constexpr std::size_t kStep = 1 << 20;
constexpr mode_t kNewFileMode = 0640;

// A file under a reserved name, removed unless it got its own name.
class TemporaryFile {
 public:
  static Result<TemporaryFile> make(int folder, std::string name) {
    base::files::Descriptor fd(
        ::openat(folder, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.valid()) return system_error(errno);
    TemporaryFile file(folder, std::move(name), std::move(fd));
    // Tells a sweep of another process that somebody works here.
    if (::flock(file.fd_.get(), LOCK_EX | LOCK_NB) != 0) return system_error(EAGAIN);
    return file;
  }
  TemporaryFile(TemporaryFile&& other) noexcept = default;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (fd_.valid() && !kept_) ::unlinkat(folder_, name_.c_str(), 0);
  }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  void keep() { kept_ = true; }

 private:
  TemporaryFile(int folder, std::string name, base::files::Descriptor fd)
      : folder_(folder), name_(std::move(name)), fd_(std::move(fd)) {}
  int folder_;
  std::string name_;
  base::files::Descriptor fd_;
  bool kept_ = false;
};

Status fill(int fd, std::string_view bytes, const Watch& watch) {
  while (!bytes.empty()) {
    RETURN_IF_ERROR(watch.check());
    ssize_t put = ::write(fd, bytes.data(), std::min(bytes.size(), kStep));
    if (put < 0 && errno != EINTR) return system_error(errno);
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
  }
  return {};
}

// Gives the file its name unless the name is taken. A link and an unlink do it
// where the file system has no such rename.
Status name_free(int folder, const char* from, const char* to) {
  if (::renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return system_error(errno);
  if (::linkat(folder, from, folder, to, 0) != 0) return system_error(errno);
  if (::unlinkat(folder, from, 0) != 0) return system_error(errno);
  return {};
}

// The bytes taken from a quota go back unless the write is done.
class Taken {
 public:
  Taken(ByteQuota& quota, std::uint64_t bytes) : quota_(&quota), bytes_(bytes) {}
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() { quota_->give_back(bytes_); }
  void keep() { bytes_ = 0; }

 private:
  ByteQuota* quota_;
  std::uint64_t bytes_;
};

}  // namespace

Result<std::optional<FileFacts>> FileStore::replaceable(int folder, const std::string& name) const {
  auto seen = resolver_.look_in(folder, name);
  if (!seen) {
    if (seen.error().kind() == ErrorKind::kNotFound) return std::optional<FileFacts>{};
    return std::move(seen).error();
  }
  if (auto plain = require_plain_file(seen->facts); !plain) {
    if (plain.error().kind() == ErrorKind::kConflict) return std::optional<FileFacts>{};
    return std::move(plain).error();
  }
  return std::optional<FileFacts>(seen->facts);
}

// The rename changes an entry of this folder and nothing that the entry means:
// should a link stand there by now, the link gives way and its target stays.
Result<WriteAnswer> FileStore::publish(int folder, const std::string& temporary,
                                       const WriteRequest& request) {
  const std::string& leaf = request.path.leaf();
  std::scoped_lock lock(names_);
  if (request.mode == WriteMode::kCreate) {
    RETURN_IF_ERROR(name_free(folder, temporary.c_str(), leaf.c_str()));
    return WriteAnswer{.created = true};
  }
  ASSIGN_OR_RETURN(std::optional<FileFacts> old, replaceable(folder, leaf));
  if (::renameat(folder, temporary.c_str(), folder, leaf.c_str()) != 0) return system_error(errno);
  if (old) quota_.give_back(old->size);
  return WriteAnswer{.created = !old};
}

Result<WriteAnswer> FileStore::write(const WriteRequest& request, const Watch& watch) {
  if (options_.allow_write != Permission::kAllowed) {
    return fail(ErrorKind::kForbidden, "writing is not allowed here");
  }
  RETURN_IF_ERROR(check_file_name(request.path));
  if (request.bytes.size() > options_.write_cap) {
    return fail(ErrorKind::kTooLarge, "over the most bytes of one file");
  }
  ASSIGN_OR_RETURN(Opened folder, resolver_.open_folder(request.path.parent()));
  int at = folder.fd.get();
  ASSIGN_OR_RETURN(std::optional<FileFacts> old, replaceable(at, request.path.leaf()));
  if (old && request.mode == WriteMode::kCreate) return system_error(EEXIST);
  if (!quota_.take(request.bytes.size())) {
    return fail(ErrorKind::kTooLarge, "over the most bytes of all files");
  }
  Taken taken(quota_, request.bytes.size());
  if (request.effect == Effect::kRehearse) return WriteAnswer{.created = !old};

  ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::make(at, temporary_name(*random_)));
  RETURN_IF_ERROR(fill(file.fd(), request.bytes, watch));
  mode_t mode = old ? old->mode & 0666U : kNewFileMode;
  if (::fchmod(file.fd(), mode) != 0 || ::fsync(file.fd()) != 0) return system_error(errno);
  RETURN_IF_ERROR(watch.check());
  ASSIGN_OR_RETURN(WriteAnswer answer, publish(at, file.name(), request));
  file.keep();
  taken.keep();
  if (::fsync(at) != 0) {
    return fail(ErrorKind::kOutcomeUnknown, "written, but the disk did not confirm it");
  }
  return answer;
}

}  // namespace tool::files

#include "toolserver/audit/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/core/text.h"

namespace tool::audit {
namespace {

constexpr std::string_view kStart = "audit-";
constexpr std::string_view kEnd = ".jsonl";
constexpr std::size_t kDigits = 16;

base::Error system_error(std::string what) {
  return base::fail(base::ErrorKind::kUnavailable, std::move(what))
      .with_detail(std::strerror(errno));
}

void close_quietly(int fd) {
  if (fd >= 0) ::close(fd);
}

// Makes the entry of a new file durable.
base::Status sync_folder(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("audit folder: cannot be opened");
  bool done = ::fsync(fd) == 0;
  base::Error error = system_error("audit folder: cannot be synced");
  close_quietly(fd);
  if (!done) return error;
  return {};
}

// Whether `path` was open to others.
base::Result<bool> close_to_others(const std::string& path, mode_t mode) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return system_error("audit folder: cannot be read");
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) == 0) return false;
  if (::chmod(path.c_str(), mode) == 0) return true;
  return system_error("audit folder: it is open to others and cannot be closed to them");
}

base::Result<bool> close_to_others(const std::string& folder) {
  ASSIGN_OR_RETURN(bool was_open, close_to_others(folder, S_IRWXU));
  ASSIGN_OR_RETURN(auto segments, list_segments(folder));
  for (const auto& segment : segments) {
    ASSIGN_OR_RETURN(bool file_was_open, close_to_others(segment.path, S_IRUSR | S_IWUSR));
    was_open |= file_was_open;
  }
  return was_open;
}

}  // namespace

std::string segment_path(const std::string& folder, std::uint64_t first_seq) {
  return fmt::format("{}/{}{:016}{}", folder, kStart, first_seq, kEnd);
}

base::Result<std::vector<SegmentName>> list_segments(const std::string& folder) {
  std::error_code ec;
  std::filesystem::directory_iterator it(folder, ec);
  if (ec == std::errc::no_such_file_or_directory) {
    return base::fail(base::ErrorKind::kNotFound, "audit folder: does not exist");
  }
  std::vector<SegmentName> segments;
  for (; !ec && it != std::filesystem::directory_iterator(); it.increment(ec)) {
    std::string name = it->path().filename().string();
    if (name.size() != kStart.size() + kDigits + kEnd.size() || !name.starts_with(kStart) ||
        !name.ends_with(kEnd)) {
      continue;
    }
    auto first = base::parse_int64(std::string_view(name).substr(kStart.size(), kDigits));
    if (!first || *first < 0) continue;
    segments.push_back({static_cast<std::uint64_t>(*first), it->path().string()});
  }
  if (ec) {
    return base::fail(base::ErrorKind::kUnavailable, "audit folder: cannot be read")
        .with_detail(ec.message());
  }
  std::ranges::sort(segments, {}, &SegmentName::first_seq);
  return segments;
}

base::Result<FolderLock> FolderLock::take(const std::string& folder) {
  std::error_code ec;
  if (std::filesystem::create_directories(folder, ec)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ec);
  }
  if (ec) {
    return base::fail(base::ErrorKind::kUnavailable, "audit folder: cannot be made")
        .with_detail(ec.message());
  }
  ASSIGN_OR_RETURN(bool was_open, close_to_others(folder));
  std::string path = folder + "/lock";
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return system_error("audit folder: cannot be locked");
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    bool is_held = errno == EWOULDBLOCK;
    base::Error error = system_error("audit folder: cannot be locked");
    close_quietly(fd);
    if (!is_held) return error;
    return base::fail(base::ErrorKind::kConflict, "audit folder: another process writes there");
  }
  return FolderLock(fd, was_open);
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), tightened_(other.tightened_) {}
FolderLock::~FolderLock() { close_quietly(fd_); }

base::Result<Segment> Segment::open(const std::string& path, Open how) {
  int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  if (how == Open::kNew) flags |= O_CREAT | O_EXCL;
  int fd = ::open(path.c_str(), flags, 0600);
  if (fd < 0) {
    if (errno == EEXIST) {
      return base::fail(base::ErrorKind::kAlreadyExists, "audit file: is there already");
    }
    return system_error("audit file: cannot be opened");
  }
  Segment segment(fd, 0);
  struct stat info{};
  if (::fstat(fd, &info) != 0) return system_error("audit file: cannot be read");
  segment.size_ = static_cast<std::uint64_t>(info.st_size);
  if (how == Open::kNew) RETURN_IF_ERROR(sync_folder(path));
  return segment;
}

Segment::Segment(Segment&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), is_ragged_(other.is_ragged_) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(is_ragged_, other.is_ragged_);
  return *this;
}

Segment::~Segment() { close_quietly(fd_); }

base::Status Segment::append(std::string_view bytes) {
  if (is_ragged_) RETURN_IF_ERROR(cut_to(size_));
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      base::Error error = system_error("audit file: cannot be written");
      is_ragged_ = done > 0;
      if (is_ragged_) static_cast<void>(cut_to(size_));  // Tried again before the next append.
      return error;
    }
    done += static_cast<std::size_t>(n);
  }
  size_ += done;
  return {};
}

base::Status Segment::cut_to(std::uint64_t size) {
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    return system_error("audit file: cannot be cut");
  }
  size_ = size;
  is_ragged_ = false;
  return {};
}

base::Status Segment::sync() const {
  if (::fdatasync(fd_) != 0) return system_error("audit file: cannot be synced");
  return {};
}

}  // namespace tool::audit

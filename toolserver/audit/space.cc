#include "toolserver/audit/space.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "toolserver/audit/segment.h"

namespace tool::audit {
namespace {

base::Result<std::uint64_t> free_bytes(const std::string& path) {
  struct statvfs facts{};
  if (::statvfs(path.c_str(), &facts) != 0) {
    return base::fail(base::ErrorKind::kUnavailable, "audit folder: its disk cannot be read")
        .with_detail(std::strerror(errno));
  }
  return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
}

}  // namespace

std::string_view name(SpaceState state) {
  switch (state) {
    case SpaceState::kEnough: return "enough";
    case SpaceState::kLow: return "low";
    case SpaceState::kFull: return "full";
  }
  return "";
}

base::Result<Space> measure_space(const std::string& folder, const SpaceLimits& limits) {
  Space space;
  ASSIGN_OR_RETURN(space.free_bytes, free_bytes(folder));
  ASSIGN_OR_RETURN(auto segments, list_segments(folder));
  for (const auto& segment : segments) {
    std::error_code ec;
    auto bytes = std::filesystem::file_size(segment.path, ec);
    if (!ec) space.trail_bytes += bytes;  // One that was moved away meanwhile counts no more.
  }
  bool is_low = space.free_bytes < limits.min_free ||
                (limits.max_bytes > 0 && space.trail_bytes > limits.max_bytes / 5 * 4);
  if (is_low) space.state = SpaceState::kLow;
  return space;
}

bool Reserve::hold() {
  if (is_held()) return true;
  int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  // What an earlier process held is free again before it is measured.
  bool is_empty = ::ftruncate(fd, 0) == 0;
  auto free = free_bytes(path_);
  if (size_ == 0 && free) size_ = std::min(bytes_, *free / 4);
  bool is_done = is_empty && size_ > 0 && ::posix_fallocate(fd, 0, static_cast<off_t>(size_)) == 0;
  if (is_done) held_ = size_;
  if (!is_done) static_cast<void>(::ftruncate(fd, 0));
  ::close(fd);
  return is_done;
}

void Reserve::release() {
  if (::truncate(path_.c_str(), 0) == 0) held_ = 0;
}

}  // namespace tool::audit

#pragma once

// A file descriptor that is closed exactly once.

#include <unistd.h>

#include <string_view>
#include <utility>

namespace base::files {

class Descriptor {
 public:
  Descriptor() = default;
  /// Takes `fd`, which may be -1 for none.
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  /// Gives the descriptor away; the caller closes it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// Writes all of `text`. False, and errno says why, when that is not possible.
[[nodiscard]] bool write_all(int fd, std::string_view text);

}  // namespace base::files

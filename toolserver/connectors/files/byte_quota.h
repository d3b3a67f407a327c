#pragma once

// A cap on the bytes of all files below a root. Counted once at the start and
// kept by our own writes and deletes; what others change there meanwhile is
// seen at the next start.

#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>

namespace tool::files {

/// Safe to use from any thread.
class ByteQuota {
 public:
  ByteQuota(std::optional<std::uint64_t> most, std::uint64_t used)
      : most_(most.value_or(std::numeric_limits<std::uint64_t>::max())), used_(used) {}

  /// Whether `bytes` more fit; if so they are taken.
  [[nodiscard]] bool take(std::uint64_t bytes) {
    std::scoped_lock lock(mutex_);
    if (used_ > most_ || bytes > most_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void give_back(std::uint64_t bytes) {
    std::scoped_lock lock(mutex_);
    used_ -= bytes < used_ ? bytes : used_;
  }

 private:
  std::mutex mutex_;
  std::uint64_t most_;
  std::uint64_t used_;
};

}  // namespace tool::files

#pragma once

// A disk that is full stops every call, so it must be known before, and calls
// that run when it happens must still get their end: a file of the folder holds
// some room for them and gives it back when nothing else is left.
// Source: docs/adr/0081-refusals-are-summed.md.

#include <cstdint>
#include <string>

#include "base/core/result.h"

namespace tool::audit {

struct SpaceLimits {
  std::uint64_t min_free = 64 << 20;  ///< Less on the file system is an alarm.
  std::uint64_t max_bytes = 0;        ///< Of the trail's files; 0 for no limit.
  std::uint64_t reserve = 1 << 20;    ///< Held back for the ends of running calls.
};

enum class SpaceState : std::uint8_t {
  kEnough,
  kLow,   ///< Under min_free, or over four fifths of max_bytes: act now.
  kFull,  ///< No call can begin.
};
[[nodiscard]] std::string_view name(SpaceState state);

struct Space {
  SpaceState state = SpaceState::kEnough;
  std::uint64_t free_bytes = 0;   ///< On the file system, for this process.
  std::uint64_t trail_bytes = 0;  ///< All files of the trail.
};

/// Errors: kUnavailable  the folder or its file system cannot be read.
[[nodiscard]] base::Result<Space> measure_space(const std::string& folder,
                                                const SpaceLimits& limits);

/// The file "reserve" of a trail's folder. Not thread-safe.
class Reserve {
 public:
  explicit Reserve(std::string folder, std::uint64_t bytes)
      : path_(std::move(folder) + "/reserve"), bytes_(bytes) {}

  /// Holds the room, or a quarter of what is free where that is less. Given back
  /// once, it is held again only as large as it was: calls would begin in what
  /// their own reserve left free, and use it up. False when the file system does
  /// not give it.
  [[nodiscard]] bool hold();
  /// Gives it back, for lines that must still be written.
  void release();
  [[nodiscard]] bool is_held() const { return held_ > 0; }
  [[nodiscard]] std::uint64_t bytes() const { return held_; }

 private:
  std::string path_;
  std::uint64_t bytes_;
  std::uint64_t size_ = 0;  // As first held.
  std::uint64_t held_ = 0;
};

}  // namespace tool::audit

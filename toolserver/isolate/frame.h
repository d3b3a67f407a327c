#pragma once

// What goes between this process and a part of it that runs as a child. The
// child may have been taken over, so its bytes are read as those of a stranger:
// bounded, and at the first that is wrong the child ends.
//
// A frame: length of what follows (4 bytes), kind (1), id (8), payload; numbers
// with the lowest byte first.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace tool::isolate {

enum class FrameKind : std::uint8_t {
  kOpen = 1,  ///< To the child, first and once: what it is to begin with.
  kRequest,   ///< To the child; the id is new.
  kCancel,    ///< To the child: the answer to the id is of no more use.
  kReady,     ///< From the child: opened.
  kFailed,    ///< From the child: cannot be opened; the payload says why.
  kAnswer,    ///< From the child, once for each request.
  kProgress,  ///< From the child, of a request under way.
};

struct Frame {
  FrameKind kind = FrameKind::kOpen;
  std::uint64_t id = 0;  ///< Of the request; 0 where there is none.
  std::string payload;
};

/// A payload that is longer than 4 GiB has no frame; callers bound it before.
[[nodiscard]] std::string encode(const Frame& frame);

/// Takes bytes as they come and gives frames. Holds no more than it was given.
class FrameReader {
 public:
  /// `most` bytes of a payload.
  explicit FrameReader(std::size_t most) : most_(most) {}

  void add(std::string_view bytes) { buffer_.append(bytes); }
  /// The next whole frame; nothing until more bytes come.
  /// Errors: kTooLarge  a payload is announced that is longer than `most`;
  ///         kCorrupt  a kind or a length that there is not. Each stays.
  [[nodiscard]] base::Result<std::optional<Frame>> next();

 private:
  const std::size_t most_;
  std::string buffer_;
  std::size_t taken_ = 0;  // Of buffer_.
};

}  // namespace tool::isolate

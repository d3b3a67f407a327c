#pragma once

// Reads a segment line by line in bounded memory, and tells a whole line from
// one that a crash has torn.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace tool::audit {

class SegmentReader {
 public:
  enum class Kind : std::uint8_t {
    kWhole,  ///< `text` is a line without its end.
    kTorn,   ///< The file ends before the line does. Nothing follows.
    kLong,   ///< Over kMaxLine. Nothing follows: this is no line of ours.
    kEnd,    ///< The file ends after a whole line, or is empty.
  };
  struct Line {
    Kind kind = Kind::kEnd;
    std::string_view text;     ///< Valid until the next call.
    std::uint64_t offset = 0;  ///< Of its first byte.
    std::uint64_t number = 0;  ///< Counted from 1.
  };

  /// Errors: kUnavailable  cannot be opened.
  [[nodiscard]] static base::Result<SegmentReader> open(const std::string& path);
  /// Errors: kUnavailable  reading failed.
  [[nodiscard]] base::Result<Line> next();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit SegmentReader(std::FILE* file) : file_(file) {}

  std::unique_ptr<std::FILE, Close> file_;
  std::string buffer_;
  std::size_t begin_ = 0;     // Of what is not consumed.
  std::uint64_t offset_ = 0;  // Of buffer_[begin_] in the file.
  std::uint64_t number_ = 0;
};

}  // namespace tool::audit

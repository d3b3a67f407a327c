#pragma once

// Every file tool takes a path from a stranger. It becomes this type before
// anything else looks at it, so that no later step meets "..", an absolute
// path, or a character that only looks like a dot. Pure: no file is touched.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace tool::files {

struct PathLimits {
  static constexpr std::size_t kBytes = 4096;
  static constexpr std::size_t kSegmentBytes = 255;
  static constexpr std::size_t kDepth = 32;
};

/// Segments parted by '/', below a root that the path does not know. Each is
/// 1 to 255 bytes of UTF-8 without forbidden characters, does not start with
/// "..", is not ".", does not end in '.' or ' ', and has no %XX in it (which a
/// later reader may decode). At most 32 segments and 4096 bytes in all.
class RelativePath {
 public:
  /// Errors: kInvalid  the text breaks a rule, which the message names; the
  ///                   text itself is never repeated.
  [[nodiscard]] static base::Result<RelativePath> parse(std::string_view text);
  /// The root itself, which has no text form that parse() takes.
  [[nodiscard]] static RelativePath root() { return {}; }

  [[nodiscard]] const std::vector<std::string>& segments() const { return segments_; }
  [[nodiscard]] bool is_root() const { return segments_.empty(); }
  /// The folder it stands in. Not for the root.
  [[nodiscard]] RelativePath parent() const;
  /// Its last segment. Not for the root.
  [[nodiscard]] const std::string& leaf() const { return segments_.back(); }
  /// The entry `name` of this folder; nothing when parse() would refuse it.
  [[nodiscard]] std::optional<RelativePath> child(std::string_view name) const;
  /// The segments joined by '/'; empty for the root.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const RelativePath&, const RelativePath&) = default;

 private:
  RelativePath() = default;
  std::vector<std::string> segments_;
};

}  // namespace tool::files

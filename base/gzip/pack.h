#pragma once

// A document is packed once and sent many times, each time with a short text
// behind it that may be a secret. Were both packed together, whoever chooses
// words of the document and sees how long the answer is could guess the secret
// letter by letter (BREACH). So the document is packed alone, and what follows
// stands in the same gzip member as it is: not compressed, and never looked back
// at. The document's bytes are shared by all answers; each has an end of its own. One member,
// because not every HTTP client reads on behind the first. Source: RFC 1951, sections 3.2.3
// and 3.2.4; RFC 1952, section 2.3.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace base::gzip {

/// The beginning of a gzip member, up to a byte where a block may begin.
struct OpenMember {
  std::string bytes;
  std::uint32_t crc = 0;   ///< CRC-32 of what is packed in it.
  std::uint64_t size = 0;  ///< The bytes of that, unpacked.
};

/// `text` compressed; the same text gives the same bytes. Blocks the thread for
/// some milliseconds for each megabyte.
/// Errors: kTooLarge  4 GiB or more; kInternal  no memory for zlib.
[[nodiscard]] Result<OpenMember> pack(std::string_view text);

/// A text that follows documents which are packed already, prepared once for all of them.
class Tail {
 public:
  explicit Tail(std::string_view text);

  /// What makes a whole member of `begun.bytes` when it follows them: the member unpacks to what
  /// is in `begun`, and the text. Its length follows from that of the text alone.
  [[nodiscard]] std::string after(const OpenMember& begun) const;

 private:
  std::string stored_;  ///< As blocks that are not compressed.
  std::uint64_t size_;
  std::uint32_t crc_;
  std::uint64_t combine_;  ///< zlib's operator for checksums before a text of this length.
};

}  // namespace base::gzip

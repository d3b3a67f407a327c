#pragma once

// Who wants a word to pass a pattern writes it so that people and models read
// the word and the pattern does not: in letters of other alphabets, with signs
// that nobody sees, in base64. Rules look at the folded text as well as at the
// text itself.
// Sources: UAX #15 (NFKD); UTS #39, section 4 (confusables); RFC 4648, sections
// 4 and 5.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tool::guard {

/// A text as the patterns see it. Letters in other widths, in styles of
/// mathematics, in circles and with accents become plain ones, and those of
/// Greek, Cyrillic and Armenian that look like Latin letters become those;
/// characters that show nothing are left out; those of the tags block (U+E0020
/// to U+E007E) become the ASCII that they hide; white space, line ends too,
/// becomes one blank; a byte that is no UTF-8 becomes U+FFFD.
struct Folded {
  std::string text;
  /// For each byte of `text` the place in the source that it came from, and one
  /// more for the end. Empty when it was not asked for.
  std::vector<std::uint32_t> origin;
};

enum class Origins : std::uint8_t { kLeftOut, kKept };
/// Takes time and room in proportion to `text`, which has less than 4 GiB.
[[nodiscard]] Folded fold(std::string_view text, Origins origins);

/// Whether fold() would change nothing: ASCII that shows, in single blanks.
[[nodiscard]] bool is_plain(std::string_view text);

/// A stretch of base64 or base64url that says a text, also over line ends where
/// its lines are long. `begin` and `end` are places in the source.
struct Encoded {
  std::size_t begin = 0;
  std::size_t end = 0;
  /// One for each of the four places where it can begin, as far as that is text
  /// at all. Not decoded again.
  std::vector<std::string> texts;
};
/// The stretches of 24 characters and more.
[[nodiscard]] std::vector<Encoded> encoded_texts(std::string_view text);

}  // namespace tool::guard

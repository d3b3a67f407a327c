#pragma once

// A secret that a stranger can guess protects nothing, and operators paste
// what documentation shows. The checks here know the usual ways: too short,
// words that say "put something here", keys that standards and tutorials
// print, and texts with a pattern in them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tool::settings {

enum class Weakness : std::uint8_t {
  kPublished,    ///< Printed in a standard, a tutorial or a manual.
  kPlaceholder,  ///< Says of itself that it is to be replaced.
  kShort,
  kRepetitive,   ///< A character or a group of them again and again.
  kSequential,   ///< Counts, or runs through the alphabet.
  kKeyboard,     ///< Runs along a row of keys.
  kPredictable,  ///< Too few bits by estimate for other reasons.
};

/// The first weakness of `secret` in the order above; nothing when it looks
/// random. `min_length` counts characters.
[[nodiscard]] std::optional<Weakness> weakness_of(std::string_view secret, std::size_t min_length);

/// A placeholder or published: for secrets that another party chose.
[[nodiscard]] std::optional<Weakness> known_weakness_of(std::string_view secret);

/// How many bits a guesser would have to try, at most: the entropy of its
/// characters, where one that follows from those before it counts one bit.
[[nodiscard]] double estimated_bits(std::string_view secret);

}  // namespace tool::settings

#pragma once

// Requests and sessions are named by ULIDs: sortable by time, unguessable in
// the rest, and of one fixed form, so that a name from outside can be kept in
// place, compared and logged without a second thought.
// Source: ULID specification, "Canonical String Representation";
// docs/wire-3.0.md, section 3.

#include <array>
#include <compare>
#include <cstddef>
#include <functional>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace tool {

/// 26 characters of Crockford's base 32, upper case. A default one is 26 times
/// '0' and stands for "not known".
class Ulid {
 public:
  static constexpr std::size_t kChars = 26;

  Ulid() { text_.fill('0'); }
  /// Errors: kInvalid  not 26 of 0-9A-HJKMNP-TV-Z, or the first over 7.
  [[nodiscard]] static base::Result<Ulid> parse(std::string_view text);
  /// 48 bits of time in milliseconds and 80 bits of chance.
  [[nodiscard]] static Ulid make(base::WallTime now, base::Random& random);

  [[nodiscard]] std::string_view text() const { return {text_.data(), text_.size()}; }
  [[nodiscard]] bool known() const { return *this != Ulid(); }
  friend auto operator<=>(const Ulid&, const Ulid&) = default;

 private:
  std::array<char, kChars> text_;
};

}  // namespace tool

template <>
struct std::hash<tool::Ulid> {
  std::size_t operator()(const tool::Ulid& id) const noexcept {
    return std::hash<std::string_view>{}(id.text());
  }
};

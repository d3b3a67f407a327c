#pragma once

// Two ids of different things are both 64-bit numbers, and swapping them
// compiles. A strong id has a type of its own and no arithmetic.

#include <compare>
#include <cstdint>
#include <functional>

namespace base {

/// An opaque number that names one kind of thing. `Tag` is any distinct type.
template <class Tag, class Rep = std::int64_t>
struct StrongId {
  Rep value{};

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

}  // namespace base

template <class Tag, class Rep>
struct std::hash<base::StrongId<Tag, Rep>> {
  std::size_t operator()(const base::StrongId<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};

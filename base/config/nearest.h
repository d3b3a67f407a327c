#pragma once

// A misspelt name is told together with the one that was meant.

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace base::config {

/// How many characters must be put in, left out or replaced to make `b` of `a`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The one of `known` (a range, not empty) whose name takes the fewest edits
/// to reach; `name_of` gives the name of one.
template <class Range, class Name>
[[nodiscard]] auto nearest_to(std::string_view name, const Range& known, Name name_of) {
  return std::ranges::min_element(
      known, {}, [&](const auto& each) { return edit_distance(name, name_of(each)); });
}

}  // namespace base::config

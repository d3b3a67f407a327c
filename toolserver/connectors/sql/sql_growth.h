#pragma once

// The engine's memory limit counts what it stores, not the text and the lists
// that one call of a function makes: repeat('x', 4000000000) is 4 GB beside
// any limit. So calls that make more than they are given are judged by the
// factor they multiply with, before they run.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "base/json/json.h"

namespace tool::connectors {

/// How the factors of a function's arguments combine.
enum class Combine : std::uint8_t { kLargest, kSum, kProduct };

struct Growth {
  double own = 1;
  Combine arguments = Combine::kLargest;
};

/// A query may not multiply the length of a value by more than this.
constexpr double kMostGrowth = 65'536;

/// What a call of `name` (lower case) does, from its arguments as they stand in
/// the tree; `params` are the values of $1 and on.
/// Errors: why it cannot be told, such as a count that is no constant.
[[nodiscard]] std::expected<Growth, std::string> growth_of(std::string_view name,
                                                           const base::json::Array& arguments,
                                                           const base::json::Array& params);

/// The value of a constant or a parameter in the tree, or null when it is
/// neither, or has no simple value.
[[nodiscard]] const base::json::Value* constant_of(const base::json::Value& expression,
                                                   const base::json::Array& params);

}  // namespace tool::connectors

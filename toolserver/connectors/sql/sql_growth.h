#pragma once

// The engine's memory limit counts what it stores, not the text and the lists
// that one call of a function makes: repeat('x', 4000000000) is 4 GB beside
// any limit. So calls that make more than they are given are judged by the
// factor they multiply with, before they run.

#include <cstdint>
#include <expected>
#include <limits>
#include <string>
#include <string_view>

#include "base/json/json.h"

namespace tool::connectors {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// How the factors of a function's arguments combine.
enum class Combine : std::uint8_t { kLargest, kSum, kProduct };

struct Growth {
  double own = 1;
  Combine arguments = Combine::kLargest;
  bool gathers = false;    ///< An aggregate that holds the values of many rows in one.
  bool is_listed = false;  ///< One of those that make more than they are given.
  /// Units that the value has at most; an argument that is a constant says so.
  double most = kNoLimit;
};

/// Factors are of kUnit bytes, which a value is taken to have where nothing
/// else is known. The engine works on 2,048 rows at a time, so that this stands
/// for half a GB.
constexpr double kMostGrowth = 16'384;
/// Of all calls of a query together: their values live at the same time.
constexpr double kMostTogether = 2 * kMostGrowth;
/// What a value of a file or of a table with long values counts for: 32 KiB.
constexpr double kMostOfColumn = kMostGrowth / 8;
constexpr std::size_t kUnit = 16;

/// What a call of `name` (lower case) does, from its arguments as they stand in
/// the tree; `params` are the values of $1 and on.
/// Errors: why it cannot be told, such as a count that is no constant.
[[nodiscard]] std::expected<Growth, std::string> growth_of(std::string_view name,
                                                           const base::json::Array& arguments,
                                                           const base::json::Array& params);

/// Of a constant or a parameter: its length.
[[nodiscard]] double growth_of_constant(const base::json::Value& expression,
                                        const base::json::Array& params);

/// The value of a constant or a parameter in the tree, or null when it is
/// neither, or has no simple value.
[[nodiscard]] const base::json::Value* constant_of(const base::json::Value& expression,
                                                   const base::json::Array& params);

}  // namespace tool::connectors

#pragma once

// JSON from strangers: bounded in size, depth and count, no duplicate keys, no
// rounding of numbers on the way through. Boost.JSON holds the tree; reading
// and writing go through here, because its own parser keeps the last of two
// equal keys and its doubles are not the nearest ones.
// Sources: RFC 8259; RFC 7493 (I-JSON) for duplicate keys and UTF-8.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace base::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

struct Limits {
  std::size_t bytes = 16 * 1024 * 1024;
  std::size_t depth = 64;
  std::size_t values = 2'000'000;  ///< Scalars, arrays and objects together.
};

/// One JSON text, whole. Integers become int64 (or uint64 above its range),
/// other numbers the nearest double.
/// Errors: kInvalid  not JSON, duplicate key, bad UTF-8, number out of range;
///         the message gives the byte offset; kTooLarge  over a limit.
[[nodiscard]] Result<Value> parse(std::string_view text, Limits limits = {});

/// Compact JSON; doubles in their shortest form that reads back the same, with
/// ".0" or an exponent so that they stay doubles. Keys in the order of the tree.
[[nodiscard]] std::string write(const Value& value);
void append(std::string& out, const Value& value);
/// A JSON string literal with its quotes.
void append_quoted(std::string& out, std::string_view text);

}  // namespace base::json

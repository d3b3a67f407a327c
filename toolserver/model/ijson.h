#pragma once

// JSON that reads the same everywhere. A number that one end rounds is another
// number at the other end, under the same signature: so integers that a double
// cannot hold are refused, in whatever way they are written.
// Source: RFC 7493, section 2.2; docs/wire-3.0.md, section 2.1.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/model/fault.h"

namespace tool {

inline constexpr std::int64_t kMaxInteger = (std::int64_t{1} << 53) - 1;

/// What a message may hold beyond its size, which the transport bounds.
struct MessageLimits {
  std::size_t bytes = 1 << 20;
  std::size_t depth = 64;
  std::size_t values = 100'000;  ///< Scalars, arrays and objects together.
};

/// One JSON text, whole.
/// Errors: E_PARSE  not I-JSON: bad UTF-8, a duplicate name, an integer beyond
///         2^53-1, a number out of range; or over a limit.
[[nodiscard]] Outcome<base::json::Value> parse_ijson(std::string_view text,
                                                     const MessageLimits& limits = {});

/// Whether a double in `value` is so large that its canonical form is an
/// integer which nobody may read back: such a text is signed, and never sent.
[[nodiscard]] bool has_large_double(const base::json::Object& value);

}  // namespace tool

#pragma once

// A single value of a primitive type: a bound, a partition value, a default.

#include <compare>
#include <cstdint>
#include <string>
#include <variant>

#include "base/core/clock.h"

namespace lake::model {

/// Bytes of fixed and binary values, apart from text.
struct Bytes {
  std::string value;
  friend auto operator<=>(const Bytes&, const Bytes&) = default;
};

/// Unscaled value of a decimal; the scale is the type's.
struct Decimal {
  __int128 unscaled = 0;
  friend auto operator<=>(const Decimal&, const Decimal&) = default;
};

/// The alternative follows from the type: bool boolean; int32 int, date (days
/// since 1970-01-01); int64 long, time (us since midnight), timestamps (us, or
/// ns for the _ns types, since 1970-01-01T00:00 UTC); float; double; string;
/// Uuid uuid; Bytes fixed, binary; Decimal decimal.
using Literal = std::variant<bool, std::int32_t, std::int64_t, float, double, std::string,
                             base::Uuid, Bytes, Decimal>;

}  // namespace lake::model

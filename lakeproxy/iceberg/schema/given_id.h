#pragma once

// Ids in a metadata file that another catalog wrote. The next schema, spec,
// order or version gets the number behind the highest one, so the highest one
// must leave room for it.

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "base/core/result.h"

namespace lake::model {

/// Far above what counting reaches, and far below what 32 bits hold.
inline constexpr std::int32_t kMostGivenId = 2'000'000'000;

/// `what` names the member in the message.
/// Errors: kInvalid  the id is negative or above kMostGivenId.
[[nodiscard]] inline base::Status check_given_id(std::string_view what, std::int32_t id) {
  if (id >= 0 && id <= kMostGivenId) return {};
  return base::fail(base::ErrorKind::kInvalid,
                    fmt::format("{}: {} must be 0 to {}", what, id, kMostGivenId));
}

}  // namespace lake::model

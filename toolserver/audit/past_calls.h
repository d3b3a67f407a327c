#pragma once

// What the trail says of calls that an earlier process began: whether each has
// an end. A caller that lost its connection with the process asks for just that.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace tool::audit {

struct PastCall {
  std::string subject;
  std::string issuer;
  std::string request_id;
  std::string tool;
  base::WallTime began{};
  std::string status;     ///< Of the result; empty: the trail does not say how it ended.
  std::uint64_t seq = 0;  ///< Of the line that ends it; 0 where there is none.
  std::string hash;       ///< Of that line.
};

struct PastCalls {
  std::vector<PastCall> calls;  ///< In the order in which they were begun.
  /// Every call that was begun later is among them.
  base::WallTime since{};
};

/// Reads the last two files of the trail in `folder`, and keeps the last `most`
/// calls that were begun after `not_before`. A call that was sealed without a
/// result had not begun. Blocks.
/// Errors: kUnavailable  reading failed; kCorrupt  a line is no record.
[[nodiscard]] base::Result<PastCalls> past_calls(const std::string& folder,
                                                 base::WallTime not_before, std::size_t most);

}  // namespace tool::audit

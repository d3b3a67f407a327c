#pragma once

// After a crash the last line may be torn. The trail goes on from the last
// whole line, and what was cut off is kept beside it; a trail that is broken in
// any other way is evidence, and the service must not write over it.

#include <optional>
#include <string>

#include "base/core/result.h"
#include "toolserver/audit/chain.h"
#include "toolserver/audit/segment.h"

namespace tool::audit {

struct TornTail {
  std::uint64_t bytes = 0;
  std::string side_file;  ///< Holds what was cut off.
};

struct Recovered {
  ChainHead head;            ///< Zero for a new trail.
  std::string segment_path;  ///< The file to go on with; empty for a new trail.
  std::optional<TornTail> torn;
};

/// Checks the last segment from its first line on, and cuts a torn tail off
/// into "<segment>.torn-<offset>". Blocks; for the start.
/// Errors: kCorrupt  a line does not follow the one before it; the message
///         names the file, the line and the rule; kUnavailable  reading or
///         cutting failed.
[[nodiscard]] base::Result<Recovered> recover(const std::string& folder);

}  // namespace tool::audit

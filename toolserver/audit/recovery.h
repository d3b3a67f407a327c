#pragma once

// After a crash the last line may be torn. The trail goes on from the last
// whole line, and what was cut off is kept beside it; a trail that is broken in
// any other way is evidence, and the service must not write over it.
//
// A new checkpoint vouches for all lines before it. So what is taken over is
// held against the signatures that are there, and the lines that no signature
// covers are counted: the "start" line says so for ever.

#include <optional>
#include <string>

#include "base/core/result.h"
#include "toolserver/audit/chain.h"
#include "toolserver/audit/checkpoint.h"
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
  std::uint64_t signed_seq = 0;      ///< The last line that a checkpoint covers.
  std::uint64_t unsigned_lines = 0;  ///< After it, checkpoints apart.
  bool has_key_pair = false;         ///< The last checkpoint is by a key pair.
};

/// Checks the last segments from the one on that holds a line covered by the
/// last checkpoint, and cuts a torn tail off into "<segment>.torn-<offset>".
/// Blocks; for the start.
/// Errors: kCorrupt  a line does not follow the one before it, or none of `keys`
///         made the last checkpoint; the message names the file, the line and
///         the rule; kUnavailable  reading or cutting failed.
[[nodiscard]] base::Result<Recovered> recover(const std::string& folder,
                                              const CheckpointKeys& keys);

}  // namespace tool::audit

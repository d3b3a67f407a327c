#pragma once

// What somebody looks for in the trail, newest first: a call by its tool, all of a
// caller, a word. It reads and judges nothing: whether the lines are true is
// verify.h's.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace tool::audit {

/// All that is set must hold.
struct Wanted {
  std::string kind;          ///< Of the record; empty: any but "checkpoint".
  std::string tool;          ///< As the caller wrote it.
  std::string principal;     ///< Its `sub`.
  std::string text;          ///< Anywhere in the line, as the trail writes it.
  std::uint64_t before = 0;  ///< Lines with a smaller `seq` alone; 0: all.
  std::size_t most = 50;
};

struct Found {
  std::vector<std::string> lines;  ///< As they stand in the trail, newest first.
  /// Where the next search goes on, as `before`; 0: everything was looked at.
  std::uint64_t next = 0;
};

/// Of one search: of what is beyond it `next` tells.
inline constexpr std::uint64_t kSearchBytes = 64ULL << 20;

/// Reads files of the trail in `folder` from the newest on, until there are `most`
/// lines or kSearchBytes were read; a file is read whole. A line that is no record is
/// left out. Blocks.
/// Errors: kUnavailable  reading failed.
[[nodiscard]] base::Result<Found> search(const std::string& folder, const Wanted& wanted);

}  // namespace tool::audit

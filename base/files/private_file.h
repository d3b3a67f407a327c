#pragma once

// Whole files that a service keeps for itself, such as logins and pins: closed
// to others, and replaced at once, so that a reader or a crash meets the old
// file or the new one and nothing between.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace base::files {

/// When a file that was replaced is safe.
enum class Durability : std::uint8_t {
  kWritten,  ///< From a crash of the process.
  kSynced,   ///< From a crash of the machine, too.
};

/// Puts `text` in the place of the file `path`, mode 0600. An operator who is root
/// leaves it to the owner of the folder. On the way it is `path`.part; two writers
/// of one path need a lock of their own.
/// Errors: kUnavailable  the system refuses; the message is `path` and why. The old
///         file stands, unless only the folder could not be synced.
[[nodiscard]] Status replace_private_file(const std::filesystem::path& path, std::string_view text,
                                          Durability durability = Durability::kSynced);

/// The text of an open file.
/// Errors: kCorrupt  no regular file; kTooLarge  over `limit` bytes; kUnavailable  it
///         cannot be read. The message is the rule alone, without the file's name.
[[nodiscard]] Result<std::string> read_whole(int fd, std::size_t limit);

}  // namespace base::files

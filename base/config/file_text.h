#pragma once

// Settings are read from files that an operator names; each read is bounded,
// and a file that holds a secret is refused when others may read it.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/core/secret.h"

namespace base::config {

struct FileText {
  enum class State { kRead, kMissing, kRefused } state;
  std::string text;
  mode_t mode = 0;  ///< Of a file that was read, and whose it is.
  uid_t owner = 0;
};

/// A regular file of at most 1 MiB.
[[nodiscard]] FileText read_file(const std::filesystem::path& path);

/// The broken rule, if any, of a file that others could have written.
[[nodiscard]] std::string_view write_access_rule(const FileText& file);
/// The broken rule, if any, of a file that holds a secret.
[[nodiscard]] std::string_view secret_access_rule(const FileText& file);

/// The text of a secret's file without the line end at its end.
/// Errors: kInvalid  the broken rule: not a readable regular file, over 8 KiB,
///         not this user's or root's, or open to group or others.
[[nodiscard]] Result<std::string> read_secret_file(const std::filesystem::path& path);

}  // namespace base::config

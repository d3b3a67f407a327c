#pragma once

// The file of the API keys that have names: a line for each,
//   reports until=2027-01-31 sha256:<hex> cap:list tool:invoke:sql.query
// and behind the scopes what narrows them, see read_grant();
// written by `securetool keys` and read by the service at the start and at each
// reload. A key itself stands nowhere.
// Source: docs/tools/access.md.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "toolserver/session/named_keys.h"

namespace tool::app {

/// Empty where the path is, or where there is no file yet.
/// Errors: kInvalid  the file cannot be read, is over 1 MiB, or a line has another form or a
///         name that stands above; names the file and the line.
[[nodiscard]] base::Result<session::NamedKeys> read_api_keys(const std::filesystem::path& path);

/// Adds a line; other lines stay as they are. Whole or not at all, and one at a time.
/// Errors: as read_api_keys(); kAlreadyExists  the name is taken; kUnavailable  it cannot be
///         written.
[[nodiscard]] base::Status add_api_key(const std::filesystem::path& path, const std::string& name,
                                       const session::NamedKey& key);
/// Likewise. Errors: also kNotFound  there is no such key.
[[nodiscard]] base::Status remove_api_key(const std::filesystem::path& path,
                                          const std::string& name);

/// "2027-01-31", a day's begin in UTC, or "never". Errors: kInvalid.
[[nodiscard]] base::Result<base::WallTime> parse_end(std::string_view text);
[[nodiscard]] std::string end_text(base::WallTime end);

}  // namespace tool::app

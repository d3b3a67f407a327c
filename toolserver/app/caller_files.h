#pragma once

// Files that say something of single callers: who is refused, and which scopes
// the subject of a certificate or a role has. Read at the start and at each reload.
// Source: docs/tools/access.md.

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "toolserver/transport/credential_check.h"

namespace tool::app {

/// Gives each line of a file to `take`, which answers the broken rule or nothing; without blanks at
/// its ends, and without empty ones and those that begin with '#'. An empty path has none.
/// Errors: kInvalid  the file cannot be read, is over 1 MiB, or a rule was broken; names the file
///         and the line.
[[nodiscard]] base::Status for_each_line(const std::filesystem::path& path,
                                         const std::function<std::string(std::string_view)>& take);

/// "scope scope", and after them what narrows these as a JSON list of details.
/// Errors: kInvalid  a scope or a detail that is none; names the place and no value.
[[nodiscard]] base::Result<Grant> read_grant(std::string_view text);
/// As read_grant() takes it, in one line.
[[nodiscard]] std::string grant_text(const Grant& grant);

/// Lines "jti ID" and "sub SUBJECT"; empty ones and those that begin with '#'
/// are passed over. An empty path is an empty list.
/// Errors: kInvalid  the file cannot be read, is over 1 MiB, or a line has
///         another form; names the file and the line.
[[nodiscard]] base::Result<transport::DenyList> read_deny_list(const std::filesystem::path& path);

/// Lines "GRANT = SUBJECT", with a grant as read_grant() takes it and the subject
/// as RFC 2253 writes it.
/// Errors: kInvalid  as above; a scope that breaks its rule; a subject twice.
[[nodiscard]] base::Result<std::map<std::string, Grant, std::less<>>> read_subject_scopes(
    const std::filesystem::path& path);

/// Lines "GRANT = ROLE", with the role as the identity provider writes it.
/// Errors: as above; a role twice.
[[nodiscard]] base::Result<std::map<std::string, Grant, std::less<>>> read_role_scopes(
    const std::filesystem::path& path);

}  // namespace tool::app

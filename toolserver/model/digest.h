#pragma once

// Tools and arguments are compared and logged by their digests, always in one
// written form.

#include <string>
#include <string_view>

#include "base/json/json.h"

namespace tool {

/// "sha256:" and 64 hexadecimal digits.
[[nodiscard]] std::string digest(std::string_view bytes);

/// The digest of the canonical arguments of a call.
/// Errors: kInvalid  the arguments have no canonical form, see
///         base::json::canonical().
/// Source: docs/wire-3.0.md, "Forwarding proof", args_h.
[[nodiscard]] base::Result<std::string> args_digest(const base::json::Object& args);

}  // namespace tool

#pragma once

// What the commands write that make keys and configurations: never over a file
// that is there, since it may be in use.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace tool::app {

/// Has its mode from its first byte on, and is on the disk when this returns.
/// Errors: kInvalid  it is there already, or cannot be made; kUnavailable  it
///         cannot be written.
[[nodiscard]] base::Status write_new(const std::string& path, std::string_view text, mode_t mode);

/// The four secrets of the service as lines of an ENV file.
[[nodiscard]] std::string fresh_secrets(base::Random& random);

}  // namespace tool::app

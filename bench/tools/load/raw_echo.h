#pragma once

// The least that a question and its answer can cost on this machine: blocking
// sockets, no protocol. What the service takes more than this is its own.

#include <cstddef>
#include <string>

#include "base/core/result.h"

namespace bench {

struct RawEcho {
  std::size_t bytes = 256;      ///< Of a message.
  std::size_t count = 100'000;  ///< Messages.
  std::size_t in_flight = 1;    ///< Sent before the first answer is waited for.
};

/// Echoes over one loopback connection to a thread of this process; returns the
/// report. Blocks. Errors: kUnavailable  the sockets failed.
[[nodiscard]] base::Result<std::string> raw_echo(const RawEcho& options);

}  // namespace bench

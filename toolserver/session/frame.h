#pragma once

// What the session layer takes from the transport and gives to it: whole
// WebSocket messages, and what to do beside sending them. Nothing here does
// I/O.
// Source: docs/wire-3.0.md, section 1.

#include <cstdint>
#include <string>

#include "toolserver/model/fault.h"

namespace tool::session {

enum class FrameKind : std::uint8_t { kText, kBinary };

/// One WebSocket message.
struct Frame {
  FrameKind kind = FrameKind::kText;
  std::string bytes;
};

/// Sends the frame.
struct Send {
  Frame frame;
};

/// Closes the connection after what was sent before; the session takes and
/// makes no more messages.
struct Close {
  std::uint16_t code = 1000;
  std::string reason;  ///< The wire's code, e.g. "E_SIG"; empty when all is well.
};

}  // namespace tool::session

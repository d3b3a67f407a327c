#pragma once

// Which refusals end the connection, and with which close code: one place for
// both ends. The code that belongs to a fault stands in the table of
// toolserver/model/fault.cc.
// Source: docs/wire-3.0.md, sections 1.4 and 5.

#include <cstdint>
#include <optional>

#include "toolserver/model/fault.h"
#include "toolserver/session/session_state.h"

namespace tool::session {

inline constexpr std::uint16_t kCloseDone = 1000;
inline constexpr std::uint16_t kCloseProtocol = 4400;
inline constexpr std::uint16_t kCloseTimeout = 4408;
inline constexpr std::uint16_t kCloseTooLarge = 4413;
inline constexpr std::uint16_t kCloseDraining = 4503;

/// The code to close with when a server refuses a message in `state`; nothing
/// when the session stays.
[[nodiscard]] std::optional<std::uint16_t> closes_with(ServerState state, Code code);

}  // namespace tool::session

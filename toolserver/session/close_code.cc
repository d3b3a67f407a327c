#include "toolserver/session/close_code.h"

namespace tool::session {

std::optional<std::uint16_t> closes_with(ServerState state, Code code) {
  switch (state) {
    case ServerState::kConnected:
    case ServerState::kNegotiated:
    case ServerState::kAuthenticating: return close_code(code);
    case ServerState::kReady:
    case ServerState::kRekeying:
    case ServerState::kDraining:
      switch (code) {
        case Code::kParse:
        case Code::kState:
        case Code::kSignature:
        case Code::kReplay: return close_code(code);
        default: return std::nullopt;
      }
    case ServerState::kClosed:
    case ServerState::kFailed: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tool::session

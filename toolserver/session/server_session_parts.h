#pragma once

// Small pieces that the files of ServerSession share.

#include <chrono>
#include <string>
#include <utility>

#include "toolserver/session/server_session.h"

namespace tool::session {

inline constexpr std::chrono::milliseconds kRetryInFlight{100};
inline constexpr std::chrono::milliseconds kRetryDraining{5'000};

[[nodiscard]] inline Fault busy(std::string message, std::chrono::milliseconds retry) {
  Fault fault = refuse(Code::kBusy, std::move(message));
  fault.retry_after = retry;
  return fault;
}

template <class Action>
[[nodiscard]] ServerActions only(Action action) {
  ServerActions actions;
  actions.emplace_back(std::move(action));
  return actions;
}

[[nodiscard]] inline Origin origin_of(const Envelope& envelope) {
  return {envelope.id, envelope.op};
}

}  // namespace tool::session

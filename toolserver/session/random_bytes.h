#pragma once

// Nonces of messages and of handshakes.

#include <cstddef>
#include <span>
#include <string>

#include "base/core/clock.h"
#include "toolserver/model/envelope.h"

namespace tool::session {

[[nodiscard]] inline std::string random_bytes(base::Random& random, std::size_t count) {
  std::string out(count, '\0');
  random.fill(std::as_writable_bytes(std::span(out)));
  return out;
}

[[nodiscard]] inline MessageNonce random_nonce(base::Random& random) {
  MessageNonce nonce{};
  random.fill(std::as_writable_bytes(std::span(nonce)));
  return nonce;
}

}  // namespace tool::session

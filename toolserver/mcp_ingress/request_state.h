#pragma once

// A client of a stateless revision carries the state of a call that waits for
// input, and gives it back with the answers. It is sealed, so that it can be
// neither read nor made, and holds only for the call it was made for: the same
// principal, method, name and arguments, for a time.
// Source: Model Context Protocol 2026-07-28, "Multi round-trip requests";
// NIST SP 800-38D.

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/core/clock.h"
#include "base/crypto/aead.h"
#include "toolserver/model/fault.h"

namespace tool::mcp_ingress {

/// What a state belongs to.
struct StateOwner {
  std::string principal;  ///< pipeline::key_of().
  std::string method;
  std::string name;
  std::string arguments;  ///< Digest.
};

struct CarriedState {
  /// Of the client's user; a state with one is taken once.
  enum class Consent : std::uint8_t {
    kNone,
    kAsked,  ///< The answer comes with the state.
    kGiven,  ///< In an earlier round of the call.
  };
  std::string tool_state;  ///< The tool's own.
  Consent consent = Consent::kNone;
};

/// Safe to use from any thread. Its key is made at the start and never leaves, so
/// no state outlives the process.
class RequestStates {
 public:
  static constexpr std::chrono::minutes kLife{10};
  static constexpr std::size_t kMostBytes = 64 << 10;  ///< Of a sealed one.

  /// Both outlive it.
  RequestStates(const base::Clock& clock, base::Random& random);

  /// Text of base64url. Errors: E_LIMIT  the tool's state is too large.
  [[nodiscard]] Outcome<std::string> seal(const StateOwner& owner, const CarriedState& state);
  /// Errors: E_SHAPE  not sealed here, or for another call, or its time is over, or
  /// it was taken before; which of them is not told.
  [[nodiscard]] Outcome<CarriedState> open(const StateOwner& owner, const std::string& sealed);

 private:
  [[nodiscard]] bool take_once(const std::string& nonce, base::WallTime until);

  const base::Clock& clock_;
  base::Random& random_;
  std::mutex mutex_;
  // All guarded by mutex_.
  base::crypto::Aead aead_;
  std::map<std::string, base::WallTime> taken_;  ///< Nonces of consent, until when.
};

}  // namespace tool::mcp_ingress

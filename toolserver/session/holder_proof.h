#pragma once

// A token alone proves nothing of who sends it: a copy is as good as the
// original. A token that names a key (`cnf`) is taken only from one who signs
// this connection's transcript with that key, so that a stolen text, or a proof
// that was made for another connection or token, opens nothing.
// Source: docs/wire-3.0.md, sections 4.11 and 6.6; RFC 7800; RFC 8705, section
// 3.1; RFC 9449, section 6.1.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/crypto/digest.h"
#include "base/crypto/signing_key.h"
#include "base/json/json.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"

namespace tool::session {

/// The member `holder` of auth and session.refresh.
struct HolderProof {
  std::string key;        ///< Ed25519 public key, 32 bytes.
  std::string signature;  ///< 64 bytes.
};

/// Errors: E_SHAPE  a member that is missing, unknown or breaks its rule, such
///         as another algorithm or kind of key.
[[nodiscard]] Outcome<HolderProof> read_holder(const base::json::Object& holder);

/// The proof that we hold `key`, for this credential on this connection.
/// Errors: kInvalid  not an Ed25519 key.
[[nodiscard]] base::Result<base::json::Object> make_holder(const base::crypto::SigningKey& key,
                                                           const base::crypto::Digest& th1,
                                                           std::string_view credential);

/// The thumbprint of the key (RFC 7638), once the signature holds.
/// Errors: E_AUTH  it does not.
[[nodiscard]] Outcome<std::string> verify_holder(const HolderProof& proof,
                                                 const base::crypto::Digest& th1,
                                                 std::string_view credential);

/// What a token with these claims is bound to; empty without `cnf`.
/// Errors: E_AUTH  bound in a way that is not known here.
[[nodiscard]] Outcome<Binding> read_binding(const base::json::Object& claims);

/// Whether tokens that whoever has them may use are taken.
enum class Unbound : std::uint8_t { kAccepted, kRefused };

/// Whether a token that is bound to `wanted` may be taken from one who proved
/// `shown`. Errors: E_AUTH.
[[nodiscard]] Outcome<void> check_binding(const Binding& wanted, const Binding& shown,
                                          Unbound unbound);

}  // namespace tool::session

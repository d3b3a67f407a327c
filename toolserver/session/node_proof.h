#pragma once

// A client shows no credential to a stranger, so the server proves itself first:
// by its node key, which it has alone, or by the secret that all members of a
// group have. A client that knows the key offers nothing else, so that no member
// of the group can pose as the server to it.
// Source: docs/wire-3.0.md, sections 4.6 and 4.7; RFC 8032; RFC 8037.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/crypto/digest.h"
#include "base/crypto/secret_bytes.h"
#include "base/crypto/signing_key.h"
#include "toolserver/model/fault.h"

namespace tool::session {

enum class ProofKind : std::uint8_t { kKey, kSecret, kNone };
/// "ed25519", "hmac", "none".
[[nodiscard]] std::string_view name(ProofKind kind);

/// What a server can prove itself by.
struct ProofMeans {
  bool node_key = false;
  bool secret = false;
  bool may_be_none = false;  ///< Mode enterprise: TLS is then all that there is.
};
/// The best kind that the client offered and the server can make; nothing when
/// there is none. Names that are not known are passed over.
[[nodiscard]] std::optional<ProofKind> choose_proof(const ProofMeans& means,
                                                    std::span<const std::string> offered);

/// The server's signature over the transcript. Errors: kInvalid  no Ed25519 key.
[[nodiscard]] base::Result<std::string> sign_node_proof(const base::crypto::SigningKey& key,
                                                        const base::crypto::Digest& th1);

/// What a welcome shows: `node_key` and `proof`.
struct ShownProof {
  std::string node_key;  ///< Ed25519 public key, 32 bytes; empty when absent.
  ProofKind kind = ProofKind::kNone;
  std::string value;  ///< 64 bytes, 32 bytes or none.
};

/// What a client knows of its server.
struct ProofTrust {
  /// Thumbprints (RFC 7638) of the keys of which one must be the server's. With
  /// one here no other proof counts.
  std::vector<std::string> server_keys;
  /// Of the shared secret, and of the one before; empty without.
  std::vector<base::crypto::SecretBytes> psks;
  bool may_be_none = false;  ///< As in ProofMeans; where `psks` is empty.
};
/// The kinds that a client with this trust offers; none when it knows nothing.
[[nodiscard]] std::vector<std::string> offered_proofs(const ProofTrust& trust);

/// Which of `psks` goes into the keys: that of the secret which the server
/// proved; nothing, for 32 zero bytes, with the other kinds.
/// Errors: E_SIG  a kind that was not offered, another key, or a value that does
///         not hold.
[[nodiscard]] Outcome<std::optional<std::size_t>> check_proof(const ShownProof& shown,
                                                              const ProofTrust& trust,
                                                              const base::crypto::Digest& th1);

}  // namespace tool::session

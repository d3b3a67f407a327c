#pragma once

// A suite is one choice for everything: group, cipher and hash. Offering parts
// to be combined would offer combinations that nobody tested.
// Source: docs/wire-3.0.md, section 4.4.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/crypto/aead.h"
#include "base/crypto/ecdh.h"
#include "toolserver/model/principal.h"
#include "toolserver/session/node_proof.h"

namespace tool::session {

enum class Suite : std::uint8_t { kX25519Aes256Gcm, kP256Aes256Gcm, kX25519ChaCha20, kNone };

struct SuiteTraits {
  Suite suite;
  std::string_view name;
  std::string_view group_name;  ///< Member of eph_c; empty for kNone.
  base::crypto::Group group;    ///< Of no meaning for kNone.
  base::crypto::Aead::Algorithm aead;
  std::size_t share_bytes;  ///< 0 for kNone.
};

[[nodiscard]] const SuiteTraits& traits(Suite suite);
[[nodiscard]] std::string_view name(Suite suite);
/// Nothing for a name that is not in the table.
[[nodiscard]] std::optional<Suite> suite_of(std::string_view name);
/// Mode encrypted takes suites with records, the other modes only kNone.
[[nodiscard]] bool fits(Suite suite, Mode mode);
/// Of the shares: the suite's; X25519 with NONE where the server proves itself by
/// its key, which would else prove nothing about the messages that follow.
[[nodiscard]] std::optional<base::crypto::Group> group_of(Suite suite, ProofKind proof);
/// "X25519", "P256".
[[nodiscard]] std::string_view name(base::crypto::Group group);
[[nodiscard]] inline bool has_records(Suite suite) { return suite != Suite::kNone; }

}  // namespace tool::session

#pragma once

// A suite is one choice for everything: group, cipher and hash. Offering parts
// to be combined would offer combinations that nobody tested. Each has a group:
// the keys of a session are of a key agreement of its own, also where its
// messages are signed and not encrypted.
// Source: docs/wire-3.0.md, section 4.4.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/crypto/aead.h"
#include "base/crypto/ecdh.h"
#include "toolserver/model/principal.h"

namespace tool::session {

enum class Suite : std::uint8_t { kX25519Aes256Gcm, kP256Aes256Gcm, kX25519ChaCha20, kNone };

struct SuiteTraits {
  Suite suite;
  std::string_view name;
  std::string_view group_name;  ///< Member of eph_c.
  base::crypto::Group group;
  base::crypto::Aead::Algorithm aead;  ///< Of no meaning for kNone.
  std::size_t share_bytes;
};

[[nodiscard]] const SuiteTraits& traits(Suite suite);
[[nodiscard]] std::string_view name(Suite suite);
/// Nothing for a name that is not in the table.
[[nodiscard]] std::optional<Suite> suite_of(std::string_view name);
/// Mode encrypted takes suites with records, the other modes only kNone.
[[nodiscard]] bool fits(Suite suite, Mode mode);
[[nodiscard]] inline bool has_records(Suite suite) { return suite != Suite::kNone; }

}  // namespace tool::session

#include "toolserver/session/suites.h"

#include <algorithm>
#include <array>

namespace tool::session {
namespace {

using base::crypto::Aead;
using base::crypto::Group;

// Source: docs/wire-3.0.md, section 4.4.
constexpr std::array kSuites = {
    SuiteTraits{Suite::kX25519Aes256Gcm, "X25519_A256GCM_S256", "X25519", Group::kX25519,
                Aead::Algorithm::kAes256Gcm, 32},
    SuiteTraits{Suite::kP256Aes256Gcm, "P256_A256GCM_S256", "P256", Group::kP256,
                Aead::Algorithm::kAes256Gcm, 65},
    SuiteTraits{Suite::kX25519ChaCha20, "X25519_C20P_S256", "X25519", Group::kX25519,
                Aead::Algorithm::kChaCha20Poly1305, 32},
    SuiteTraits{Suite::kNone, "NONE", "X25519", Group::kX25519, Aead::Algorithm::kAes256Gcm, 32},
};

}  // namespace

const SuiteTraits& traits(Suite suite) { return kSuites[static_cast<std::size_t>(suite)]; }

std::string_view name(Suite suite) { return traits(suite).name; }

std::optional<Suite> suite_of(std::string_view name) {
  const auto* found = std::ranges::find(kSuites, name, &SuiteTraits::name);
  if (found == kSuites.end()) return std::nullopt;
  return found->suite;
}

bool fits(Suite suite, Mode mode) { return has_records(suite) == (mode == Mode::kEncrypted); }

}  // namespace tool::session

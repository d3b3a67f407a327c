#pragma once

// A hash over all that both ends have said. Keys and confirmations stand on
// it, so whoever changes a byte of the negotiation changes every key.
// Source: docs/wire-3.0.md, sections 4.5, 4.8, 4.9 and 7.1.

#include <cstdint>
#include <string_view>

#include "base/crypto/digest.h"

namespace tool::session {

using base::crypto::Digest;

/// `hello` is the message as sent, `welcome0` the canonical welcome without
/// p.proof, `channel_binding` empty without TLS.
[[nodiscard]] Digest transcript_hello(std::string_view hello, std::string_view welcome0,
                                      std::string_view channel_binding);
/// th_auth; `auth0` is the canonical auth without p.confirm and sig.
[[nodiscard]] Digest transcript_auth(const Digest& th1, std::string_view auth0);
/// th2; `ready0` is the canonical ready without p.confirm and sig.
[[nodiscard]] Digest transcript_ready(const Digest& th_auth, std::string_view ready0);
/// th_r of the epoch that begins.
[[nodiscard]] Digest transcript_rekey(const Digest& th2, std::uint32_t epoch,
                                      std::string_view share_c, std::string_view share_s);

}  // namespace tool::session

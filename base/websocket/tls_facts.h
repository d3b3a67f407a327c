#pragma once

// What a protocol above TLS needs to know of the connection below it: who the
// peer proved to be, and a value that binds the protocol to this connection.
// Source: RFC 9266, section 4; RFC 8446, section 7.5; RFC 8705, section 3.1.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/websocket/connection.h"

struct ssl_st;

namespace base::ws {

/// Nothing when `tls` is null or the peer showed no certificate.
[[nodiscard]] std::optional<PeerCertificate> peer_certificate(ssl_st* tls);

/// SHA-256 in DER of the certificate that this end of the connection shows.
/// Errors: kUnsupported  it shows none;
///         kInternal  OpenSSL failed.
[[nodiscard]] Result<std::string> own_certificate_hash(ssl_st* tls);

/// Exported keying material with an empty context.
/// Errors: kUnsupported  not TLS 1.3;
///         kInternal  OpenSSL failed.
[[nodiscard]] Result<std::string> tls_exporter(ssl_st* tls, std::string_view label,
                                               std::size_t length);

}  // namespace base::ws

#pragma once

// The server's side of TLS: which versions and keys. Source: RFC 8446; RFC 9325.

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "base/core/result.h"
#include "base/http/server.h"

namespace base::http {

/// TLS 1.3, and 1.2 unless `files` says otherwise; forward-secret suites only,
/// no compression and no renegotiation.
/// Errors: kInvalid  a file cannot be read, or key and certificate do not match,
///                   or clients' certificates are asked for without a client_ca.
[[nodiscard]] Result<std::unique_ptr<boost::asio::ssl::context>> make_server_tls(
    const TlsFiles& files);

}  // namespace base::http

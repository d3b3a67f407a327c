#pragma once

// The client's socket, plain or under TLS 1.3, as a stream of bytes.

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/http/byte_stream.h"
#include "base/http/client.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace base::ws {

struct ClientTlsFiles {
  std::string ca;           ///< The system's roots when empty.
  std::string certificate;  ///< None when empty.
  std::string key;
};

/// TLS 1.3 only, with a verified peer.
/// Errors: kInvalid  a file cannot be used, or key and certificate do not match.
[[nodiscard]] Result<std::shared_ptr<boost::asio::ssl::context>> make_client_tls(
    const ClientTlsFiles& files);

/// A stream on which everything ends when a deadline passes.
class ClientStream : public http::ByteStream {
 public:
  /// Closes the stream at `until` unless disarmed before.
  virtual void arm(Deadline until) = 0;
  virtual void disarm() = 0;
  /// Whether the deadline has closed it.
  [[nodiscard]] virtual bool expired() const = 0;
  /// Whether the peer has refused us by a TLS alert: with TLS 1.3 a server that
  /// wants another client certificate says so after the client's handshake.
  [[nodiscard]] virtual bool refused() const = 0;
};

/// Connects to the origin, or to `address` in its place where that is not empty, and,
/// with a `tls` context, shakes hands for the origin's name. The stream is armed until `until`.
/// Runs with throw_if_cancelled(false) in force. Errors: kUnavailable  no connection;
///         kForbidden  TLS was refused by either side;
///         kTimeout  `until` passed; kCancelled.
[[nodiscard]] Task<Result<std::unique_ptr<ClientStream>>> open_stream(
    http::Origin origin, std::string address, std::shared_ptr<boost::asio::ssl::context> tls,
    Deadline until);

}  // namespace base::ws

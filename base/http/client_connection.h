#pragma once

// One connection of the client and the life of one request on it. Beast and
// OpenSSL stay behind this header.

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/http/client.h"
#include "base/http/message.h"
#include "base/runtime/task.h"

namespace base::http {

/// A request as its bytes go out. Copies share the bytes.
struct WireRequest {
  Method method = Method::kGet;
  Body head;
  Body body;

  /// Writes the head. Errors: kInvalid  the target or a field would break out
  /// of its line, sets the framing itself, or the method has no name.
  /// Source: RFC 9112, sections 3 and 5.
  [[nodiscard]] static Result<WireRequest> make(const Origin& origin, const ClientRequest& request);
};

struct AnswerLimits {
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
};

/// What came of a request.
struct Exchange {
  Result<Response> answer;
  /// The peer ended the connection before any byte of the answer.
  bool closed_unanswered = false;
};

class ClientConnection {
 public:
  virtual ~ClientConnection() = default;

  /// Sends and reads the answer, at most until `until`. Once per connection
  /// at a time. Runs with throw_if_cancelled(false) in force.
  /// Errors: as Client::send, and kCancelled.
  [[nodiscard]] virtual Task<Exchange> exchange(WireRequest request, AnswerLimits limits,
                                                Deadline until) = 0;
  /// Whether another request may follow: the last answer was read to its end,
  /// both sides keep the connection, and nothing unasked has come since.
  [[nodiscard]] virtual bool reusable() = 0;
};

/// The settings of TLS: verified peer, version 1.2 or later. Source: RFC 9325.
/// Errors: kInvalid  `ca_file` cannot be read as PEM.
[[nodiscard]] Result<std::shared_ptr<boost::asio::ssl::context>> make_tls_context(
    const std::string& ca_file);

/// Resolves, connects and, with a `tls` context, shakes hands for the host's
/// name. Runs with throw_if_cancelled(false) in force.
/// Errors: kUnavailable  no connection; kTimeout  `until` passed; kCancelled.
[[nodiscard]] Task<Result<std::unique_ptr<ClientConnection>>> open_connection(
    Origin origin, std::shared_ptr<boost::asio::ssl::context> tls, Deadline until);

}  // namespace base::http

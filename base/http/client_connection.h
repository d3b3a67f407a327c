#pragma once

// One connection of the client and the life of one request on it. Beast and
// OpenSSL stay behind this header.

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/core/result.h"
#include "base/http/body_stream.h"
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
  /// A body that streams stands in the place of the request's own.
  [[nodiscard]] static Result<WireRequest> make(const Origin& origin, const ClientRequest& request,
                                                const BodyStream& stream = {});
};

struct AnswerLimits {
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
};

/// Of an exchange whose bodies stream: each step waits for the server as long as `step`, all of
/// them together until `until`.
struct StreamLimits {
  AnswerLimits answer;
  std::chrono::milliseconds step{0};
  Deadline until = Deadline::max();
};

/// What came of a request whose answer's body is still to be read.
struct Begun {
  Result<Response> head;
  std::optional<std::uint64_t> length = std::nullopt;  ///< Of the body, where it is known.
  bool has_body = false;
  bool closed_unanswered = false;  ///< As in Exchange.
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
  /// Sends the request with `body` and reads the head of the answer. Runs with
  /// throw_if_cancelled(false) in force, as read_body() does.
  /// Errors: as StreamClient::send.
  [[nodiscard]] virtual Task<Begun> begin(WireRequest request, BodyStream body,
                                          StreamLimits limits) = 0;
  /// Of the body of the answer that was begun; 0 at its end.
  /// Errors: as BodySource::read.
  [[nodiscard]] virtual Task<Result<std::size_t>> read_body(std::span<char> into) = 0;
  /// As BodySource::splice_into.
  [[nodiscard]] virtual Task<Result<std::optional<std::size_t>>> splice_body(int pipe,
                                                                             std::size_t most) = 0;
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
/// Errors: kUnavailable  no connection; kForbidden  as dial(); kTimeout  `until`
///         passed; kCancelled.
[[nodiscard]] Task<Result<std::unique_ptr<ClientConnection>>> open_connection(
    Origin origin, std::shared_ptr<boost::asio::ssl::context> tls, Deadline until,
    AddressFilter filter = {});

}  // namespace base::http

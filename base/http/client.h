#pragma once

// An HTTP/1.1 client for servers behind us (object store, identity provider):
// keeps connections alive, bounds what it reads, and tells a request that was
// certainly not processed from one that may have been.

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/http/message.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace base::http {

/// Where to connect.
struct Origin {
  std::string host;
  std::uint16_t port = 80;
  bool encrypted = false;

  /// "http://host:port" or "https://host[:port]", no path.
  /// Errors: kInvalid  not such a URL.
  [[nodiscard]] static Result<Origin> parse(std::string_view url);
  /// The Host header: the port is left out when it is the scheme's default.
  [[nodiscard]] std::string authority() const;
};

/// Whether a connection to an address may be made. Asked of each address that the
/// host's name stands for, just before that very address is connected to, so
/// that no other answer of a name service can come between. Empty: all may.
using AddressFilter = std::function<bool(const boost::asio::ip::address&)>;

struct ClientOptions {
  std::size_t connections = 32;  ///< Open at once per client; more requests wait.
  std::size_t header_bytes = 64 * 1024;
  std::size_t body_bytes = 256 * 1024 * 1024;
  std::chrono::milliseconds connect_time{5'000};
  std::chrono::milliseconds response_time{60'000};
  std::string ca_file;  ///< PEM; the system's roots when empty.
  AddressFilter may_connect = {};
};

struct ClientRequest {
  Method method = Method::kGet;
  std::string target;  ///< Path and query, already encoded.
  Headers headers;     ///< Host and Content-Length are added.
  Body body;
};

/// One origin, used from one event loop.
class Client {
 public:
  [[nodiscard]] static std::unique_ptr<Client> create(Origin origin, ClientOptions options);
  virtual ~Client() = default;

  /// Sends and reads the whole answer; any status is a success here.
  /// A request that finds a kept connection closed by the server before any
  /// byte of the answer is sent again once, on a new connection, if its method
  /// is idempotent (GET, HEAD, PUT, DELETE).
  /// Errors: kUnavailable  not connected, or closed before the request was sent;
  ///         kForbidden  may_connect allows none of the host's addresses;
  ///         kOutcomeUnknown  sent, and no whole answer came;
  ///         kTimeout  the context's deadline or response_time passed;
  ///         kTooLarge  the answer is over the bounds.
  [[nodiscard]] virtual Task<Result<Response>> send(RequestContext context,
                                                    ClientRequest request) = 0;
};

}  // namespace base::http

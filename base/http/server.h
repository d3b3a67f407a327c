#pragma once

// An HTTP/1.1 server whose clients are strangers: every size, count and wait
// has a bound, and a client that is slow, half-open or gone costs one small
// coroutine until its bound is reached.
// Sources: RFC 9110, RFC 9112.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/http/message.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"

namespace base::http {

/// What happens to a newcomer over one of the limits.
enum class WhenFull : std::uint8_t {
  kRefuse,  ///< 503 and close; over TLS closed without a word.
  /// It takes the place of the oldest stranger of its own address when that
  /// address is full, else of the address with the most strangers, which is
  /// closed without a word. With no stranger to close it is refused.
  kReplaceStranger,
};

struct AdmissionLimits {
  static constexpr std::size_t kNoLimit = SIZE_MAX;
  std::size_t connections = 10'000;
  std::size_t of_address = kNoLimit;  ///< An IPv6 address counts by its /64.
  std::size_t strangers = kNoLimit;   ///< Connections that nobody has vouched for.
  WhenFull when_full = WhenFull::kRefuse;
};

struct ServerLimits {
  std::size_t header_bytes = 16 * 1024;       ///< Over it: 431, connection closed.
  std::size_t body_bytes = 16 * 1024 * 1024;  ///< Over it: 413 before the body is read.
  /// Set: how large the body of this request may be, of which only the head is
  /// here; never more than body_bytes. Must not throw.
  std::function<std::size_t(const Request& head)> body_bytes_of = {};
  AdmissionLimits admission;
  std::size_t pipelined = 16;              ///< Answers held back to be sent together.
  std::chrono::milliseconds idle{60'000};  ///< Between two requests.
  /// For a head, from its first byte on; for the first one, and the TLS
  /// handshake before it, from the moment at which the connection is accepted.
  std::chrono::milliseconds header_time{10'000};
  std::chrono::milliseconds body_time{60'000};
  std::chrono::milliseconds write_time{60'000};
  std::chrono::milliseconds request_time{120'000};  ///< Becomes the deadline of the context.
};

enum class TlsVersion : std::uint8_t { kTls12, kTls13 };
enum class ClientCertificates : std::uint8_t {
  kNone,      ///< Not asked for.
  kOptional,  ///< Asked for; one that is shown must be valid.
  kRequired,  ///< The handshake fails without a valid one.
};

struct TlsFiles {
  std::string certificate_chain;  ///< PEM file.
  std::string private_key;        ///< PEM file.
  TlsVersion minimum = TlsVersion::kTls12;
  ClientCertificates clients = ClientCertificates::kNone;
  std::string client_ca = {};  ///< PEM file of the authorities that sign clients' certificates.
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0 takes a free port; see Server::port().
  ServerLimits limits;
  std::unique_ptr<TlsFiles> tls;  ///< Plain HTTP when null.
};

/// Answers one request. Called on the worker that owns the connection, for one
/// request of a connection at a time. Must not throw.
using Handler = std::function<Task<Response>(RequestContext, Request)>;

/// Makes the answer to a request that never reaches the handler: malformed
/// (400), too large (413, 431), too slow (408), over the limit (503), not
/// offered (417, 501, 505); and to one whose handler broke its word (500).
/// Called on any worker, by several at once. Must not throw.
using Refusal = std::function<Response(unsigned status, std::string_view message)>;

class Server {
 public:
  /// Binds and starts to accept; connections are spread over `workers` in turn.
  /// `handlers[i]` serves the connections of worker i (one entry per worker),
  /// so that each can hold what belongs to its worker alone.
  /// Errors: kUnavailable  the address cannot be bound;
  ///         kInvalid  the TLS files cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(ServerOptions options,
                                                             Workers& workers,
                                                             std::vector<Handler> handlers,
                                                             Refusal refusal);
  virtual ~Server() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  [[nodiscard]] virtual std::size_t connections() const = 0;
  /// Reads the TLS files anew, for connections from then on; those that are open
  /// keep the certificate they were made with. Returns whether another
  /// certificate is shown. Call from outside the workers.
  /// Errors: kInvalid  a file cannot be used, or the server speaks no TLS;
  ///         nothing has changed.
  [[nodiscard]] virtual Result<bool> reload_tls(const TlsFiles& files) = 0;
  /// For connections from here on. From any thread.
  virtual void set_limits(const AdmissionLimits& limits) = 0;
  /// Stops accepting, closes idle connections, finishes what is in flight, and
  /// closes what is left after `grace`: connections end, handlers are cancelled.
  /// Blocks until every connection and handler has ended; call from outside the
  /// workers, while they still run. The destructor does it without grace.
  virtual void shutdown(std::chrono::milliseconds grace) = 0;
};

}  // namespace base::http

#pragma once

// One WebSocket connection, of either side, whose peer is a stranger: what it
// may send is bounded in size, count and time, what it does not read is bounded
// too, and each way a connection can end has its own name.
// Source: RFC 6455.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/runtime/task.h"

namespace base::ws {

class Core;

/// Codes of a close frame. Source: RFC 6455, section 7.4.1. 4000 to 4999 are
/// the application's.
inline constexpr std::uint16_t kCloseNormal = 1000;
inline constexpr std::uint16_t kCloseGoingAway = 1001;
inline constexpr std::uint16_t kCloseProtocolError = 1002;
inline constexpr std::uint16_t kCloseNoCode = 1005;    ///< Never sent: none was received.
inline constexpr std::uint16_t kCloseAbnormal = 1006;  ///< Never sent: no close frame came.
inline constexpr std::uint16_t kCloseInvalidData = 1007;
inline constexpr std::uint16_t kClosePolicy = 1008;
inline constexpr std::uint16_t kCloseTooLarge = 1009;

struct Message {
  enum class Kind : std::uint8_t { kText, kBinary };
  Kind kind = Kind::kText;
  std::string data;  ///< Well-formed UTF-8 when text.
};

/// How a connection ended. The comment names the error that receive() gives.
enum class End : std::uint8_t {
  kOpen,           ///< It has not.
  kClosedByPeer,   ///< An orderly close by the peer: kCancelled, reason "closed".
  kClosedHere,     ///< close() was called here: kCancelled, reason "closed_here".
  kLost,           ///< No close frame came: kUnavailable, reason "lost".
  kProtocolError,  ///< The peer broke RFC 6455: kInvalid, reason "protocol".
  kTooLarge,       ///< Message over the limit: kTooLarge, reason "too_large".
  kIdle,           ///< Nothing was heard for too long: kTimeout, reason "idle".
  kSlowConsumer,   ///< The peer does not read: kTimeout, reason "slow_consumer".
};

struct Closure {
  End end = End::kOpen;
  /// What the peer sent when it closed, else what was sent to it; kCloseNoCode
  /// for a close frame without a code, kCloseAbnormal when the peer is lost.
  std::uint16_t code = 0;
  std::string reason;
};

struct ConnectionOptions {
  std::size_t message_bytes = 16 * 1024;  ///< See set_message_limit().
  std::uint16_t too_large_code = kCloseTooLarge;
  std::size_t fragments = 1024;  ///< Of one message; over it as a message too large.
  std::size_t send_queue_bytes = 4 * 1024 * 1024;
  std::chrono::milliseconds ping{30'000};   ///< Each time so long without a byte, a ping is sent;
  std::chrono::milliseconds idle{300'000};  ///< and after so long the connection ends.
  std::uint16_t idle_code = kCloseGoingAway;
  std::chrono::milliseconds write_time{60'000};  ///< For the peer to take the next 128 KiB.
  std::chrono::milliseconds close_time{5'000};   ///< For the whole close handshake.
};

/// The certificate that the peer showed and that was verified.
struct PeerCertificate {
  std::string subject;     ///< As RFC 2253 writes it.
  std::string thumbprint;  ///< SHA-256 of the certificate, base64url: RFC 8705, "x5t#S256".
  WallTime expires_at;     ///< Its notAfter.
};

/// Belongs to one event loop, as do all its calls, and is dropped before it.
/// Dropping it closes the connection with kCloseNormal, after what is queued,
/// if it is still open.
class Connection {
 public:
  explicit Connection(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The next message. Pings are answered and the peer's close is confirmed
  /// only while a receive() waits: be in one nearly always. One at a time.
  /// Errors: those of End; the same again once the connection has ended.
  /// What comes after close() was called here is dropped. A receive() that is
  /// cancelled loses the connection.
  [[nodiscard]] Task<Result<Message>> receive();

  /// Queues a message and returns at once; messages that are queued together
  /// go out together.
  /// Errors: kInvalid  text that is not UTF-8;
  ///         kTooLarge  the queue would pass send_queue_bytes: the peer does
  ///                    not read, and is disconnected (End::kSlowConsumer);
  ///                    one message alone over the bound disconnects nobody;
  ///         kUnavailable  the connection is closing or has ended.
  Status send(Message message);
  /// Waits until the queue has been handed to the system.
  /// Errors: kUnavailable  the connection ended before.
  [[nodiscard]] Task<Status> drained();
  /// Bytes queued and not yet taken by the system.
  [[nodiscard]] std::size_t queued() const;

  /// Sends a close frame after what is queued; nothing can be sent after it.
  /// `code` is one that may be sent (section 7.4), else kCloseNormal is sent;
  /// `reason` is cut to 123 bytes of whole characters. The handshake is
  /// finished, within close_time, by receive() or after this object is dropped.
  void close(std::uint16_t code, std::string reason);
  /// Ends at once, without a close frame.
  void abort();

  /// The longest message taken, in bytes. A longer one is refused as soon as
  /// its announced size is known, with `code`; its body is never read.
  void set_message_limit(std::size_t bytes, std::uint16_t code = kCloseTooLarge);
  /// The peer has shown who it is: on a server it is no stranger any more, and
  /// nobody takes its place. See http::AdmissionLimits.
  void vouch();
  /// From here on, the time for the whole close handshake.
  void set_close_time(std::chrono::milliseconds time);
  /// What to call when the server begins to stop, instead of
  /// close(kCloseGoingAway). It must not drop this connection. When the grace
  /// is over, the connection is cut whatever was called.
  void on_drain(std::function<void()> call);

  /// How it ended; End::kOpen until then.
  [[nodiscard]] const Closure& closure() const;
  /// The peer's address, without port.
  [[nodiscard]] const std::string& peer() const;
  [[nodiscard]] bool encrypted() const;
  /// The sub-protocol agreed on; empty when none.
  [[nodiscard]] const std::string& subprotocol() const;
  /// Keying material that only the two ends of this TLS connection can make,
  /// e.g. label "EXPORTER-Channel-Binding" and 32 bytes (RFC 9266).
  /// Errors: kUnsupported  not TLS 1.3;
  ///         kInternal  OpenSSL failed, or the connection has been torn down.
  [[nodiscard]] Result<std::string> tls_exporter(std::string_view label, std::size_t length) const;
  /// The channel binding tls-server-end-point of a server: SHA-256 of the
  /// certificate in DER that this connection was made with, whatever newer ones
  /// are served now. Source: RFC 5929, section 4.1.
  /// Errors: kUnsupported  not TLS, or this end shows no certificate;
  ///         kInternal  OpenSSL failed, or the connection has been torn down.
  [[nodiscard]] Result<std::string> server_certificate_hash() const;
  /// Nothing when the peer showed none; a server always shows one.
  [[nodiscard]] const std::optional<PeerCertificate>& peer_certificate() const;

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace base::ws

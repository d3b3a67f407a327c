#pragma once

// A connection that has left HTTP: plain bytes in both directions, whatever
// lies below. Virtual rather than a template, so that the protocol above it is
// compiled once and knows neither Asio's streams nor OpenSSL.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/runtime/task.h"

struct ssl_st;

namespace base::http {

/// Belongs to one event loop. One read and one write may be under way together.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Waits for at least one byte and reads at most into.size() (at least 1).
  /// 0: the peer ended, the connection broke, or abort() was called. `into`
  /// must live until the call has returned.
  [[nodiscard]] virtual Task<std::size_t> read(std::span<char> into) = 0;
  /// Writes both, without copying either; they must live until it has returned.
  /// False when the connection is broken.
  [[nodiscard]] virtual Task<bool> write(std::string_view head, std::string_view body) = 0;
  /// Writes what can be sent without waiting, from the start of `bytes`, and
  /// returns how much; 0 when nothing can, or the stream cannot tell. Only
  /// while no write() is under way. A failure comes again with write().
  [[nodiscard]] virtual std::size_t write_now(std::string_view bytes) = 0;
  /// Closes at once; whatever is under way ends.
  virtual void abort() = 0;
  /// The peer has shown who it is: on a server it is no stranger any more, and
  /// nobody takes its place (AdmissionLimits). A client's stream does nothing.
  virtual void vouch() = 0;
  /// What to call, on the loop, when the server begins to stop; replaces the
  /// one before. A client's stream never calls it.
  virtual void on_drain(std::function<void()> call) = 0;

  /// The peer's address, without port.
  [[nodiscard]] virtual const std::string& peer() const = 0;
  /// OpenSSL's object of the connection; null when it is not encrypted.
  [[nodiscard]] virtual ssl_st* tls() = 0;
};

/// Takes the connection over once the 101 has been sent. `received` are the
/// bytes that came after the request; both live until the task has ended, and
/// then the connection is closed. When the server stops and its grace is over,
/// the stream is aborted and the task cancelled.
using Upgrade = std::function<Task<void>(ByteStream& stream, std::string_view received)>;

}  // namespace base::http

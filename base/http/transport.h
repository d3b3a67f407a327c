#pragma once

// The socket of a connection, plain or under TLS, with its deadline. Every
// operation ends early when the deadline passes or the connection is aborted;
// the caller learns only that it got no further, and looks at overdue().
// Included by connection.cc alone: what it includes is slow to compile.

#include <fcntl.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <span>

#include "base/http/connection.h"
#include "base/http/lane.h"
#include "base/http/read_buffer.h"
#include "base/http/tls_socket.h"

namespace base::http {

using TlsStream = TlsSocket<ServerSocket>;

enum class Linger : std::uint8_t { kNo, kYes };

template <class Stream>
class Transport : public LaneMember {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  explicit Transport(Stream stream) : stream_(std::move(stream)) {}

  void interrupt() override;
  void abort() override;
  void close_now() override;
  [[nodiscard]] boost::asio::cancellation_slot slot() { return cancellation_.slot(); }

  [[nodiscard]] bool aborted() const { return aborted_; }
  void limit(std::chrono::milliseconds time) { deadline = std::chrono::steady_clock::now() + time; }
  void no_limit() { deadline = Deadline::max(); }
  [[nodiscard]] bool overdue() const { return std::chrono::steady_clock::now() >= deadline; }

  /// The client's address; empty when it is gone already.
  [[nodiscard]] std::string set_up();
  Task<bool> handshake();
  /// Reads at least one and at most `want` bytes.
  Task<bool> read(ReadBuffer& into, std::size_t want);
  /// Reads at least one byte; 0 when there is nothing more to read.
  Task<std::size_t> read(std::span<char> into);
  /// Writes all of them in their order, without copying any, and takes off what is written.
  Task<bool> write(std::span<std::string_view> pieces);
  /// Writes all the bytes that the pipe holds, without copying any; not over TLS.
  Task<bool> splice_from(int pipe, std::size_t bytes);
  /// Writes what the socket takes at once and removes it from `bytes`. Only
  /// while no write is under way.
  void write_now(std::string& bytes);
  /// The same, and returns how many bytes the socket took.
  std::size_t write_now(std::string_view bytes);
  /// Closes so that the client sees an error: it has got a part of an answer that it must not take
  /// for the whole.
  void break_off();
  /// OpenSSL's object; null for a plain connection.
  [[nodiscard]] SSL* tls() {
    if constexpr (kTls) {
      return stream_.native_handle();
    } else {
      return nullptr;
    }
  }
  /// A close with unread input makes the kernel send a reset, which can
  /// destroy the answer before the client has read it. With kYes: says that we
  /// are done, then throws away what comes until the client closes too, for a
  /// short time.
  Task<void> close(Linger linger);

 private:
  static constexpr auto kToken = boost::asio::as_tuple(boost::asio::use_awaitable);
  static constexpr std::chrono::milliseconds kLingerTime{2'000};
  static constexpr std::size_t kGathered = 4;  ///< Pieces for one call of the system.

  ServerSocket& socket() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }

  Stream stream_;
  boost::asio::cancellation_signal cancellation_;
  bool aborted_ = false;
};

template <class Stream>
void Transport<Stream>::interrupt() {
  boost::system::error_code ignored;  // Nothing under way is the only failure.
  socket().cancel(ignored);
}

template <class Stream>
void Transport<Stream>::close_now() {
  aborted_ = true;
  boost::system::error_code ignored;  // The socket is gone either way.
  socket().close(ignored);
}

template <class Stream>
void Transport<Stream>::abort() {
  close_now();
  cancellation_.emit(boost::asio::cancellation_type::terminal);
}

template <class Stream>
std::string Transport<Stream>::set_up() {
  boost::system::error_code ec;
  auto endpoint = socket().remote_endpoint(ec);
  if (!ec) socket().set_option(boost::asio::ip::tcp::no_delay(true), ec);
  if (!ec) socket().non_blocking(true, ec);
  return ec ? std::string() : endpoint.address().to_string();
}

template <class Stream>
Task<bool> Transport<Stream>::handshake() {
  if constexpr (kTls) {
    if (co_await stream_.accept()) co_return false;
  }
  co_return !aborted_;
}

template <class Stream>
Task<bool> Transport<Stream>::read(ReadBuffer& into, std::size_t want) {
  std::size_t n = co_await read(into.prepare(want));
  into.commit(n);
  co_return n > 0;
}

template <class Stream>
Task<std::size_t> Transport<Stream>::read(std::span<char> into) {
  if (aborted_) co_return 0;
  if constexpr (kTls) {
    auto [ec, n] = co_await stream_.read_some(into);
    co_return ec || aborted_ ? 0 : n;
  } else {
    auto [ec, n] =
        co_await stream_.async_read_some(boost::asio::buffer(into.data(), into.size()), kToken);
    co_return ec || aborted_ ? 0 : n;
  }
}

template <class Stream>
Task<bool> Transport<Stream>::write(std::span<std::string_view> pieces) {
  for (;;) {
    while (!pieces.empty() && pieces.front().empty()) pieces = pieces.subspan(1);
    if (pieces.empty() || aborted_) co_return !aborted_;
    std::size_t written = 0;
    if constexpr (kTls) {
      auto [ec, n] = co_await stream_.write_some(pieces.front());
      if (ec) co_return false;
      written = n;
    } else {
      // Empty ones at the end cost nothing.
      std::array<boost::asio::const_buffer, kGathered> buffers;
      for (std::size_t i = 0; i < std::min(pieces.size(), kGathered); ++i) {
        buffers[i] = boost::asio::buffer(pieces[i].data(), pieces[i].size());
      }
      auto [ec, n] = co_await stream_.async_write_some(buffers, kToken);
      if (ec) co_return false;
      written = n;
    }
    for (std::string_view& piece : pieces) {
      const std::size_t of_piece = std::min(written, piece.size());
      piece.remove_prefix(of_piece);
      written -= of_piece;
      if (written == 0) break;
    }
  }
}

template <class Stream>
Task<bool> Transport<Stream>::splice_from(int pipe, std::size_t bytes) {
  while (bytes > 0 && !aborted_) {
    const ssize_t n =
        ::splice(pipe, nullptr, socket().native_handle(), nullptr, bytes, SPLICE_F_NONBLOCK);
    if (n > 0) {
      bytes -= static_cast<std::size_t>(n);
      continue;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) co_return false;
    auto [ec] = co_await socket().async_wait(boost::asio::socket_base::wait_write, kToken);
    if (ec) co_return false;
  }
  co_return !aborted_;
}

template <class Stream>
void Transport<Stream>::write_now(std::string& bytes) {
  bytes.erase(0, write_now(std::string_view(bytes)));
}

template <class Stream>
std::size_t Transport<Stream>::write_now(std::string_view bytes) {
  if (aborted_) return 0;
  if constexpr (kTls) {
    return stream_.write_now(bytes);
  } else {
    boost::system::error_code later;  // A failure comes again with the next write.
    return stream_.write_some(boost::asio::buffer(bytes), later);
  }
}

template <class Stream>
void Transport<Stream>::break_off() {
  boost::system::error_code ignored;  // Then it ends as any other does.
  socket().set_option(boost::asio::socket_base::linger(true, 0), ignored);
  close_now();
}

template <class Stream>
Task<void> Transport<Stream>::close(Linger linger) {
  boost::system::error_code ec;
  limit(kLingerTime);
  resting = true;
  if constexpr (kTls) {
    if (!aborted_ && SSL_is_init_finished(stream_.native_handle())) {
      co_await stream_.shutdown();
    }
  }
  if (linger == Linger::kYes && !aborted_) {
    socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ec);
    while (!ec && !aborted_ && !overdue()) {
      std::array<char, 4096> thrown_away;
      auto [error, n] = co_await socket().async_read_some(boost::asio::buffer(thrown_away), kToken);
      ec = error;
    }
  }
  unlink();
  socket().close(ec);
}

}  // namespace base::http

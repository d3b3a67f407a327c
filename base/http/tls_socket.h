#pragma once

// TLS on a socket of Asio's. OpenSSL reads and writes the socket itself and
// Asio only waits for it: Asio's own TLS stream keeps about 50 KiB of buffers
// for each connection, which thousands of silent ones cannot afford.
// Slow to compile: for the few files that hold streams.

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <climits>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "base/runtime/task.h"

namespace base::http {

/// Lets `ssl` read and write the non-blocking socket `fd`, which it borrows.
/// OpenSSL's own way raises SIGPIPE when the peer is gone.
void set_socket(SSL* ssl, int fd);

/// One read and one write may be under way together. The socket must be
/// connected and non-blocking. Errors of the TLS layer, such as a peer's alert,
/// have the category asio::error::get_ssl_category().
template <class Socket>
class TlsSocket {
 public:
  using Error = boost::system::error_code;
  struct Moved {
    Error error;
    std::size_t bytes = 0;
  };

  TlsSocket(Socket socket, boost::asio::ssl::context& context)
      : socket_(std::move(socket)), ssl_(SSL_new(context.native_handle())) {
    if (!ssl_) throw std::bad_alloc();
    SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_set_read_ahead(ssl_.get(), 1);  // One system call for a record, not two.
  }

  Socket& next_layer() { return socket_; }
  [[nodiscard]] SSL* native_handle() const { return ssl_.get(); }

  Task<Error> accept() { return shake_hands(SSL_accept); }
  Task<Error> connect() { return shake_hands(SSL_connect); }
  /// Reads at least one byte; eof at the peer's close_notify.
  Task<Moved> read_some(std::span<char> into);
  Task<Moved> write_some(std::string_view bytes);
  /// Writes what the socket takes without waiting; only while no write is
  /// under way.
  std::size_t write_now(std::string_view bytes);
  /// Sends our close_notify and waits for the peer's.
  Task<void> shutdown();

 private:
  static constexpr auto kToken = boost::asio::as_tuple(boost::asio::use_awaitable);
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  Task<Error> shake_hands(int (*act)(SSL*));
  int write_once(std::string_view bytes);
  /// After an operation that returned `result` <= 0: waits for what it wants.
  /// An error when it will never go on.
  Task<Error> wait_to_go_on(int result);
  [[nodiscard]] Error failure(int reason) const;

  Socket socket_;
  std::unique_ptr<SSL, Free> ssl_;
};

template <class Socket>
Task<boost::system::error_code> TlsSocket<Socket>::shake_hands(int (*act)(SSL*)) {
  if (!socket_.is_open()) co_return boost::asio::error::operation_aborted;
  set_socket(ssl_.get(), socket_.native_handle());
  for (;;) {
    ERR_clear_error();
    int result = act(ssl_.get());
    if (result == 1) co_return Error();
    if (Error error = co_await wait_to_go_on(result)) co_return error;
  }
}

template <class Socket>
auto TlsSocket<Socket>::read_some(std::span<char> into) -> Task<Moved> {
  while (socket_.is_open()) {
    ERR_clear_error();
    int size = static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX));
    int result = SSL_read(ssl_.get(), into.data(), size);
    if (result > 0) co_return Moved{Error(), static_cast<std::size_t>(result)};
    if (Error error = co_await wait_to_go_on(result)) co_return Moved{error};
  }
  co_return Moved{boost::asio::error::operation_aborted};
}

template <class Socket>
auto TlsSocket<Socket>::write_some(std::string_view bytes) -> Task<Moved> {
  if (bytes.empty()) co_return Moved{};
  while (socket_.is_open()) {
    int result = write_once(bytes);
    if (result > 0) co_return Moved{Error(), static_cast<std::size_t>(result)};
    if (Error error = co_await wait_to_go_on(result)) co_return Moved{error};
  }
  co_return Moved{boost::asio::error::operation_aborted};
}

template <class Socket>
std::size_t TlsSocket<Socket>::write_now(std::string_view bytes) {
  if (!socket_.is_open() || bytes.empty()) return 0;
  int result = write_once(bytes);
  // A record that was begun is finished by write_some() with the same bytes.
  return result > 0 ? static_cast<std::size_t>(result) : 0;
}

template <class Socket>
int TlsSocket<Socket>::write_once(std::string_view bytes) {
  ERR_clear_error();
  return SSL_write(ssl_.get(), bytes.data(),
                   static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
}

template <class Socket>
Task<void> TlsSocket<Socket>::shutdown() {
  bool sent = false;
  while (socket_.is_open()) {
    ERR_clear_error();
    int result = SSL_shutdown(ssl_.get());
    if (result == 1) co_return;
    // 0: ours is sent, and asking again waits for the peer's.
    if (result == 0 && !std::exchange(sent, true)) continue;
    if (co_await wait_to_go_on(result)) co_return;
  }
}

template <class Socket>
Task<boost::system::error_code> TlsSocket<Socket>::wait_to_go_on(int result) {
  using boost::asio::socket_base;
  int reason = SSL_get_error(ssl_.get(), result);
  if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) co_return failure(reason);
  auto [error] = co_await socket_.async_wait(
      reason == SSL_ERROR_WANT_READ ? socket_base::wait_read : socket_base::wait_write, kToken);
  co_return error;
}

template <class Socket>
boost::system::error_code TlsSocket<Socket>::failure(int reason) const {
  if (reason == SSL_ERROR_ZERO_RETURN) return boost::asio::error::eof;
  unsigned long code = ERR_get_error();
  if (reason == SSL_ERROR_SYSCALL || code == 0) return boost::asio::error::connection_reset;
  // The end of the stream without a close_notify.
  if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    return boost::asio::ssl::error::stream_truncated;
  }
  return {static_cast<int>(code), boost::asio::error::get_ssl_category()};
}

}  // namespace base::http

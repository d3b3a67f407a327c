#pragma once

// A server on a free loopback port, and a client that sends exactly the bytes
// it is told to: most of what is tested here no honest client would send.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <thread>

#include "base/http/server.h"

namespace base::http::testing {

using std::chrono::milliseconds;

struct Answer {
  unsigned status = 0;  ///< 0: the connection ended before a whole answer.
  std::string head;
  std::string body;

  [[nodiscard]] std::string field(std::string_view name) const {
    std::size_t at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return "";
    at += name.size() + 4;
    return head.substr(at, head.find("\r\n", at) - at);
  }
};

enum class End { kClosed, kReset, kStillOpen };
enum class Expects { kBody, kNoBody };

/// A blocking client. A wait of five seconds is a failure.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    timeval wait{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  virtual ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// False when the server has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t n = write_some(bytes);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  Answer read(Expects expects = Expects::kBody) {
    Answer answer;
    std::size_t end;
    while ((end = held_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return {};
    }
    answer.head = held_.substr(0, end + 2);
    held_.erase(0, end + 4);
    std::size_t length = 0;
    std::string text = answer.field("Content-Length");
    std::from_chars(text.data(), text.data() + text.size(), length);
    if (expects == Expects::kNoBody) length = 0;
    while (held_.size() < length) {
      if (!receive()) return {};
    }
    answer.body = held_.substr(0, length);
    held_.erase(0, length);
    std::from_chars(answer.head.data() + 9, answer.head.data() + 12, answer.status);
    return answer;
  }

  Answer ask(std::string_view bytes) {
    send(bytes);
    return read();
  }

  /// Waits for the end of what the server sends.
  End end() {
    while (receive()) {
    }
    return end_;
  }
  [[nodiscard]] const std::string& held() const { return held_; }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 protected:
  virtual ssize_t write_some(std::string_view bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  virtual ssize_t read_some(char* into, std::size_t size) { return ::recv(fd_, into, size, 0); }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  bool receive() {
    char bytes[16384];
    ssize_t n = read_some(bytes, sizeof bytes);
    if (n > 0) {
      held_.append(bytes, static_cast<std::size_t>(n));
      return true;
    }
    end_ = n == 0 ? End::kClosed : errno == EAGAIN ? End::kStillOpen : End::kReset;
    return false;
  }

  int fd_;
  std::string held_;
  End end_ = End::kStillOpen;
};

/// What the handlers share with the test.
struct Seen {
  std::atomic<int> requests = 0;
  std::atomic<int> holding = 0;
  std::atomic<int> cancelled = 0;
  std::atomic<bool> released = false;
};

// However a cancelled handler ends, by an error code or by an exception.
struct NotesCancellation {
  Seen* seen;
  ~NotesCancellation() {
    if (!seen->released) ++seen->cancelled;
  }
};

/// Seven buffers, more than one call of the system takes, of which one is empty.
inline Body pieces_body(bool large) {
  Body body;
  for (char letter : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    body.append(std::make_shared<const std::string>(large ? 3 << 20 : 100, letter));
    if (letter == 'b') body.append(std::make_shared<const std::string>());
  }
  return body;
}

inline Task<Response> serve(Seen* seen, RequestContext context, Request request) {
  ++seen->requests;
  Response response;
  if (request.path() == "/hold") {
    NotesCancellation notes{seen};
    ++seen->holding;
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    while (!seen->released) {
      timer.expires_after(milliseconds(2));
      auto [ec] = co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
      if (ec) break;
    }
  } else if (request.path() == "/throw") {
    throw std::runtime_error("a defect");
  } else if (request.path() == "/context") {
    auto left = std::chrono::ceil<std::chrono::seconds>(context.deadline -
                                                        std::chrono::steady_clock::now());
    response.body = Body(fmt::format("{} {}", context.id_text(), left.count()));
    co_return response;
  } else if (request.path() == "/empty") {
    response.status = 204;
    co_return response;
  } else if (request.path() == "/large") {
    response.body = Body(std::string(8 << 20, 'x'));
    co_return response;
  }
  if (request.path().starts_with("/pieces")) {
    response.body = pieces_body(request.path().ends_with("large"));
    co_return response;
  }
  response.headers.add("Content-Type", "text/plain");
  response.body =
      Body(fmt::format("{} {} {} {} {}", to_string(request.method), request.target,
                       request.encrypted ? "tls" : "plain", request.peer, request.body.size()));
  co_return response;
}

inline Response refusal(unsigned status, std::string_view message) {
  Response response;
  response.status = status;
  response.body = Body("refused: " + std::string(message));
  return response;
}

/// Generous limits, so that a slow machine breaks no test that is not about them.
inline ServerLimits patient() { return {}; }

class TestServer {
 public:
  explicit TestServer(ServerLimits limits = patient(), std::unique_ptr<TlsFiles> tls = nullptr,
                      unsigned workers = 2)
      : workers_(workers) {
    std::vector<Handler> handlers(workers, [this](RequestContext context, Request request) {
      return serve(&seen, context, std::move(request));
    });
    ServerOptions options{.limits = limits, .tls = std::move(tls)};
    auto started = Server::start(std::move(options), workers_, std::move(handlers), refusal);
    EXPECT_TRUE(started.has_value());
    server_ = std::move(*started);
  }

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  Server& server() { return *server_; }
  void wait_for_holding(int count) {
    while (seen.holding < count) std::this_thread::sleep_for(milliseconds(1));
  }
  void wait_for_connections(std::size_t count) {
    while (server_->connections() != count) std::this_thread::sleep_for(milliseconds(1));
  }

  Seen seen;

 private:
  Workers workers_;
  std::unique_ptr<Server> server_;
};

inline std::string get(std::string_view target) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: h\r\n\r\n", target);
}

}  // namespace base::http::testing

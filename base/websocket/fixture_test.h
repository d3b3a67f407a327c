#pragma once

// A WebSocket server on a free loopback port, and a peer that sends exactly the
// bytes it is told to, since most of what is tested here no honest peer sends.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/http/server.h"
#include "base/websocket/accept.h"
#include "base/websocket/client.h"
#include "base/websocket/frame_codec.h"

namespace base::ws::testing {

using std::chrono::milliseconds;

inline constexpr const char* kHandshake =
    "GET /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// How the server's sessions ended, in order.
class Ends {
 public:
  void add(const Result<Message>& last, const Closure& closure) {
    std::lock_guard lock(mutex_);
    all_.push_back({closure, last ? ErrorKind::kInternal : last.error().kind(),
                    last ? "" : std::string(last.error().reason())});
    changed_.notify_all();
  }
  struct Entry {
    Closure closure;
    ErrorKind kind;
    std::string reason;
  };
  /// Waits for the `index`-th.
  Entry at(std::size_t index) {
    std::unique_lock lock(mutex_);
    bool came =
        changed_.wait_for(lock, std::chrono::seconds(10), [&] { return all_.size() > index; });
    EXPECT_TRUE(came);
    return came ? all_[index] : Entry{};
  }
  std::size_t count() {
    std::lock_guard lock(mutex_);
    return all_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> all_;
};

inline Task<void> echo(Ends* ends, std::unique_ptr<Connection> connection) {
  for (;;) {
    Result<Message> message = co_await connection->receive();
    if (message && connection->send(std::move(*message))) continue;
    if (message) message = co_await connection->receive();
    ends->add(message, connection->closure());
    co_return;
  }
}

struct Setting {
  AcceptOptions accept;
  std::unique_ptr<http::TlsFiles> tls;
  http::ServerLimits limits;
  unsigned workers = 1;
};

inline http::Response refusal(unsigned status, std::string_view message) {
  http::Response response;
  response.status = status;
  response.body = http::Body("refused: " + std::string(message));
  return response;
}

/// Echoes at /echo, or runs another session there.
class TestServer {
 public:
  explicit TestServer(Setting setting = {}, Session session = nullptr)
      : accept_(std::move(setting.accept)), workers_(setting.workers) {
    session_ = session ? std::move(session) : [this](std::unique_ptr<Connection> connection) {
      return echo(&ends, std::move(connection));
    };
    std::vector<http::Handler> handlers(
        setting.workers,
        [this](RequestContext, http::Request request) { return answer(this, std::move(request)); });
    http::ServerOptions options{.limits = setting.limits, .tls = std::move(setting.tls)};
    auto started = http::Server::start(std::move(options), workers_, std::move(handlers), refusal);
    EXPECT_TRUE(started.has_value());
    server_ = std::move(*started);
  }

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] std::string url(std::string_view scheme = "ws") const {
    return fmt::format("{}://127.0.0.1:{}/echo", scheme, port());
  }
  http::Server& server() { return *server_; }
  void wait_for_connections(std::size_t count) {
    for (int i = 0; i < 10'000 && server_->connections() != count; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(server_->connections(), count);
  }

  Ends ends;

 private:
  static Task<http::Response> answer(TestServer* self, http::Request request) {
    if (request.path() == "/echo") co_return accept(request, self->accept_, self->session_);
    http::Response response;
    response.body = http::Body(std::string("plain"));
    co_return response;
  }

  AcceptOptions accept_;
  Session session_;
  Workers workers_;
  std::unique_ptr<http::Server> server_;
};

struct Frame {
  Opcode opcode = Opcode::kText;
  bool final = true;
  std::string payload;
  bool operator==(const Frame&) const = default;
};

inline void PrintTo(const Frame& frame, std::ostream* out) {
  *out << "opcode " << int(frame.opcode) << (frame.final ? " '" : " more '")
       << frame.payload.substr(0, 60) << "'";
}

inline std::string masked(Opcode opcode, std::string payload, bool final = true) {
  Mask mask{0x12, 0x34, 0xAB, 0xCD};
  std::string out;
  append_header(out, {.final = final, .opcode = opcode, .mask = mask, .length = payload.size()});
  apply_mask(payload, mask);
  return out + payload;
}

inline Frame close_frame(std::uint16_t code, std::string_view reason = "") {
  return {Opcode::kClose, true, close_payload(code, reason)};
}

/// A blocking client. A wait of ten seconds is a failure.
class RawPeer {
 public:
  explicit RawPeer(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    timeval wait{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~RawPeer() { close(); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// The head of an HTTP answer; empty when the connection ended before.
  std::string head() {
    std::size_t end;
    while ((end = held_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return "";
    }
    std::string out = held_.substr(0, end + 4);
    held_.erase(0, end + 4);
    return out;
  }
  /// Opens the WebSocket; what `with` holds is sent in the same write.
  void open(std::string_view with = "") {
    send(std::string(kHandshake).append(with));
    EXPECT_TRUE(head().starts_with("HTTP/1.1 101 "));
  }
  /// Nothing at the end of the stream.
  std::optional<Frame> frame() {
    for (;;) {
      auto header = parse_header(held_, Sender::kServer);
      EXPECT_TRUE(header.has_value());
      if (!header) return std::nullopt;
      if (*header && held_.size() >= (*header)->size + (*header)->length) {
        Frame out{(*header)->opcode, (*header)->final,
                  held_.substr((*header)->size, (*header)->length)};
        held_.erase(0, (*header)->size + (*header)->length);
        return out;
      }
      if (!receive()) return std::nullopt;
    }
  }
  /// Whether the server ends the stream now, without another frame.
  bool at_end() { return !frame().has_value() && ended_; }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  /// As a machine that went away: a reset.
  void reset() {
    linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  bool receive() {
    char bytes[16384];
    ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
    if (n > 0) held_.append(bytes, static_cast<std::size_t>(n));
    ended_ = n == 0;
    return n > 0;
  }

  int fd_;
  bool ended_ = false;
  std::string held_;
};

/// Runs a task on a loop of its own until it and all it left behind has ended.
template <class T>
T run(Task<T> task) {
  boost::asio::io_context loop;
  std::optional<T> result;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T value) {
    EXPECT_FALSE(error);
    result.emplace(std::move(value));
  });
  loop.run_for(std::chrono::seconds(60));
  EXPECT_TRUE(result.has_value());
  return std::move(*result);
}

}  // namespace base::ws::testing

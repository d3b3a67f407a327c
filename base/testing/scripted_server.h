#pragma once

// A server that misbehaves on purpose: it closes, hangs or sends half an
// answer exactly when its script says so. For faults only; what a real server
// can show is tested against the real server.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/runtime/task.h"

namespace base::testing {

/// What the server does with one request on a connection.
struct Act {
  enum Then { kKeep, kClose, kHang };
  enum When { kAfterRequest, kAtOnce };

  std::string answer = {};  ///< Bytes, sent as they are.
  Then then = kKeep;
  When when = kAfterRequest;
};

/// "HTTP/1.1 200 OK" with that body.
[[nodiscard]] std::string http_ok(std::string_view body);

/// Plays one list of acts for each accepted connection, in the order of the
/// script, on the event loop of the test; a connection whose list is over is
/// left open. Reads requests of HTTP/1.1 that carry Content-Length or no body.
class ScriptedServer {
 public:
  using Script = std::deque<std::vector<Act>>;

  ScriptedServer(boost::asio::io_context& loop, Script script);
  ~ScriptedServer() { close(); }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return state_->port; }
  /// The requests, whole, as they came.
  [[nodiscard]] const std::vector<std::string>& requests() const { return state_->requests; }
  /// For each request the connection it came on, counted from 1.
  [[nodiscard]] const std::vector<std::size_t>& connections() const { return state_->connections; }
  /// Called once, when the next request has been read.
  void on_next_request(std::function<void()> call) { state_->on_next_request = std::move(call); }
  /// Stops accepting and closes every connection.
  void close();

 private:
  using Socket = boost::asio::ip::tcp::socket;

  // Shared with the coroutines, which end after the server does.
  struct State {
    State(boost::asio::io_context& loop, Script acts);
    boost::asio::ip::tcp::acceptor acceptor;
    std::uint16_t port;
    Script script;
    std::vector<std::shared_ptr<Socket>> sockets;
    std::vector<std::string> requests;
    std::vector<std::size_t> connections;
    std::function<void()> on_next_request = [] {};
  };

  static Task<void> accept(std::shared_ptr<State> state);
  static Task<void> play(std::shared_ptr<State> state, std::shared_ptr<Socket> socket,
                         std::size_t number, std::vector<Act> acts);
  static Task<bool> read_request(std::shared_ptr<State> state, std::shared_ptr<Socket> socket,
                                 std::size_t number);

  std::shared_ptr<State> state_;
};

}  // namespace base::testing

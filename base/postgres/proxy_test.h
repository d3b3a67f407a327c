#pragma once

// A wire between client and server that a test can cut at a chosen byte.

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <limits>
#include <memory>

#include "base/postgres/fixture_test.h"

namespace base::pg {

/// Forwards connections on a port of its own to the shared server. Lives on
/// the loop of the test; close() ends its work there.
class CuttingProxy {
 public:
  using tcp = boost::asio::ip::tcp;

  explicit CuttingProxy(boost::asio::io_context& loop)
      : loop_(loop), acceptor_(loop, {boost::asio::ip::address_v4::loopback(), 0}) {
    accept();
  }

  [[nodiscard]] PoolOptions options() const {
    auto options = server_options();
    options.port = fmt::to_string(acceptor_.local_endpoint().port());
    options.connections = 1;
    return options;
  }

  /// Cuts every connection once the client has sent this many bytes more;
  /// those are delivered.
  void cut_after_sent(std::size_t bytes) { state_->sent_left = bytes; }
  /// Cuts in place of delivering the next bytes from the server.
  void cut_at_answer() { state_->answers_left = 0; }
  /// Passes so many bytes of the clients on, and then none, as if the client had
  /// frozen in the middle of a message; nothing is cut.
  void stall_after_sent(std::size_t bytes) { state_->stall_left = bytes; }
  /// Holds the server's next words back for so long.
  void delay_answer(std::chrono::milliseconds time) { state_->delay = time; }
  /// Bytes that clients have sent since the last call.
  std::size_t take_sent() { return std::exchange(state_->sent, 0); }
  /// Waits for no more connections, and cuts those there are.
  void close() {
    acceptor_.close();
    for (auto& wire : state_->wires) {
      if (auto open = wire.lock()) open->cut();
    }
  }

 private:
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

  struct Wire {
    Wire(tcp::socket near, boost::asio::io_context& loop) : client(std::move(near)), server(loop) {}
    void cut() {
      boost::system::error_code ignored;
      client.close(ignored);
      server.close(ignored);
    }
    tcp::socket client;
    tcp::socket server;
    std::array<char, 4096> up;
    std::array<char, 4096> down;
  };

  struct State {
    std::size_t sent = 0;
    std::size_t sent_left = kNever;
    std::size_t answers_left = kNever;
    std::size_t stall_left = kNever;
    std::chrono::milliseconds delay{0};
    std::vector<std::weak_ptr<Wire>> wires;
  };
  using WirePtr = std::shared_ptr<Wire>;
  using StatePtr = std::shared_ptr<State>;

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code failed, tcp::socket client) {
      if (failed) return;
      auto wire = std::make_shared<Wire>(std::move(client), loop_);
      state_->wires.push_back(wire);
      boost::system::error_code refused;
      wire->server.connect(
          {boost::asio::ip::address_v4::loopback(), testing::PostgresServer::shared().port()},
          refused);
      if (!refused) {
        pump_up(wire, state_);
        pump_down(wire, state_);
      }
      accept();
    });
  }

  static void pump_up(WirePtr wire, StatePtr state) {
    auto buffer = boost::asio::buffer(wire->up);
    wire->client.async_read_some(
        buffer, [wire, state](boost::system::error_code failed, std::size_t got) {
          state->sent += got;
          std::size_t passed = std::min(got, state->sent_left);
          if (state->sent_left != kNever) state->sent_left -= passed;
          boost::system::error_code ignored;
          passed = std::min(passed, state->stall_left);
          if (state->stall_left != kNever) state->stall_left -= passed;
          boost::asio::write(wire->server, boost::asio::buffer(wire->up, passed), ignored);
          if (failed || state->sent_left == 0) return wire->cut();
          if (state->stall_left == 0) return;
          pump_up(wire, state);
        });
  }

  static void pump_down(WirePtr wire, StatePtr state) {
    auto buffer = boost::asio::buffer(wire->down);
    wire->server.async_read_some(buffer, [wire, state](boost::system::error_code failed,
                                                       std::size_t got) {
      if (failed || state->answers_left == 0) return wire->cut();
      auto held_back = std::make_shared<boost::asio::steady_timer>(
          wire->client.get_executor(), std::exchange(state->delay, std::chrono::milliseconds(0)));
      held_back->async_wait([wire, state, got, held_back](boost::system::error_code) {
        boost::system::error_code ignored;
        boost::asio::write(wire->client, boost::asio::buffer(wire->down, got), ignored);
        pump_down(wire, state);
      });
    });
  }

  boost::asio::io_context& loop_;
  tcp::acceptor acceptor_;
  StatePtr state_ = std::make_shared<State>();
};

}  // namespace base::pg

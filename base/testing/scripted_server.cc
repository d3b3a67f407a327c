#include "base/testing/scripted_server.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace base::testing {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto kToTuple = asio::as_tuple(asio::use_awaitable);

std::size_t content_length(const std::string& text, std::size_t head_size) {
  constexpr std::string_view kName = "\r\nContent-Length: ";
  auto at = text.find(kName);
  return at < head_size ? std::stoul(text.substr(at + kName.size())) : 0;
}

}  // namespace

std::string http_ok(std::string_view body) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
}

ScriptedServer::State::State(asio::io_context& loop, Script acts)
    : acceptor(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      port(acceptor.local_endpoint().port()),
      script(std::move(acts)) {}

ScriptedServer::ScriptedServer(asio::io_context& loop, Script script)
    : state_(std::make_shared<State>(loop, std::move(script))) {
  asio::co_spawn(loop, accept(state_), asio::detached);
}

void ScriptedServer::close() {
  boost::system::error_code ignored;  // Closed already.
  state_->acceptor.close(ignored);
  for (auto& socket : state_->sockets) socket->close(ignored);
}

Task<void> ScriptedServer::accept(std::shared_ptr<State> state) {
  while (true) {
    auto [error, accepted] = co_await state->acceptor.async_accept(kToTuple);
    if (error) co_return;
    auto socket = std::make_shared<Socket>(std::move(accepted));
    state->sockets.push_back(socket);
    std::vector<Act> acts;
    if (!state->script.empty()) {
      acts = std::move(state->script.front());
      state->script.pop_front();
    }
    auto playing = play(state, socket, state->sockets.size(), std::move(acts));
    asio::co_spawn(state->acceptor.get_executor(), std::move(playing), asio::detached);
  }
}

Task<bool> ScriptedServer::read_request(std::shared_ptr<State> state,
                                        std::shared_ptr<Socket> socket, std::size_t number) {
  std::string text;
  auto [error, size] =
      co_await asio::async_read_until(*socket, asio::dynamic_buffer(text), "\r\n\r\n", kToTuple);
  if (error) co_return false;
  std::size_t total = size + content_length(text, size);
  while (text.size() < total) {
    std::array<char, 4096> part;
    auto [failed, got] = co_await socket->async_read_some(asio::buffer(part), kToTuple);
    if (failed) co_return false;
    text.append(part.data(), got);
  }
  state->requests.push_back(std::move(text));
  state->connections.push_back(number);
  std::exchange(state->on_next_request, [] {})();
  co_return true;
}

Task<void> ScriptedServer::play(std::shared_ptr<State> state, std::shared_ptr<Socket> socket,
                                std::size_t number, std::vector<Act> acts) {
  for (const auto& act : acts) {
    if (act.when == Act::kAfterRequest && !co_await read_request(state, socket, number)) co_return;
    auto [error, sent] = co_await asio::async_write(*socket, asio::buffer(act.answer), kToTuple);
    if (error) co_return;
    if (act.then == Act::kClose) socket->close();
    if (act.then != Act::kKeep) co_return;
  }
}

}  // namespace base::testing

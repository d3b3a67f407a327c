#include "toolserver/mcp_ingress/feed.h"

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "toolserver/mcp/framing.h"

namespace tool::mcp_ingress {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

// Shared by who watches a connection and who waits for that.
struct Watch {
  explicit Watch(const asio::any_io_executor& loop) : ended(loop, base::Deadline::max()) {}
  bool over = false;
  asio::steady_timer ended;
  asio::cancellation_signal stop;
};

// Until the client closes. What it sends on a connection that will close after
// the answer is of no use.
base::Task<void> watch_client(base::http::ByteStream& stream) {
  co_await asio::this_coro::throw_if_cancelled(false);
  std::array<char, 512> thrown_away;
  for (;;) {
    if (co_await stream.read(thrown_away) == 0) co_return;
    auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
  }
}

base::Task<bool> send_all(std::shared_ptr<Feed> feed, base::http::ByteStream& stream) {
  while (!feed->empty()) {
    std::string events;
    while (!feed->empty() && events.size() < (64 << 10)) mcp::append_event(events, feed->take());
    if (!co_await stream.write(events, {})) co_return false;
  }
  co_return true;
}

}  // namespace

void Feed::push_if_room(std::string message) {
  if (bytes_ + message.size() <= kMostBytes) push(std::move(message));
}

void Feed::push(std::string message) {
  if (ended_) return;
  bytes_ += message.size();
  messages_.push_back(std::move(message));
  wake();
}

void Feed::end() {
  ended_ = true;
  wake();
}

std::string Feed::take() {
  std::string message = std::move(messages_.front());
  messages_.pop_front();
  bytes_ -= message.size();
  return message;
}

void Feed::gone() {
  end();
  if (auto call = std::exchange(on_gone, nullptr)) call();
}

base::Task<bool> Feed::wait(base::Deadline deadline) {
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto state = co_await asio::this_coro::cancellation_state;
  if (messages_.empty() && !ended_ && state.cancelled() == asio::cancellation_type::none) {
    boost::system::error_code woken;
    changed_.expires_at(deadline);
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    state = co_await asio::this_coro::cancellation_state;
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return state.cancelled() == asio::cancellation_type::none;
}

base::Task<void> send_events(std::shared_ptr<Feed> feed, base::http::ByteStream& stream,
                             std::chrono::milliseconds keep_alive) {
  co_await asio::this_coro::throw_if_cancelled(false);
  auto watch = std::make_shared<Watch>(feed->loop());
  asio::co_spawn(
      feed->loop(), watch_client(stream),
      asio::bind_cancellation_slot(watch->stop.slot(), [watch, feed](const std::exception_ptr&) {
        watch->over = true;
        watch->ended.cancel();
        feed->wake();
      }));
  bool open = true;
  while (open) {
    open = co_await send_all(feed, stream);
    if (!open || feed->ended()) break;
    auto deadline = steady_clock::now() + keep_alive;
    open = co_await feed->wait(deadline) && !watch->over;
    if (open && feed->empty() && !feed->ended() && steady_clock::now() >= deadline) {
      open = co_await stream.write(mcp::kKeepAlive, {});
    }
  }
  if (!open) feed->gone();
  // The watch uses the stream, which ends with this task.
  watch->stop.emit(asio::cancellation_type::all);
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  while (!watch->over) {
    boost::system::error_code woken;
    co_await watch->ended.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

}  // namespace tool::mcp_ingress

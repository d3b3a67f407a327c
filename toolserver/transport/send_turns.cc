#include "toolserver/transport/send_turns.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace tool::transport {

namespace asio = boost::asio;

base::Task<bool> SendTurns::take() {
  if (is_free()) co_return true;
  asio::steady_timer mine(loop_, asio::steady_timer::time_point::max());
  auto place = waiting_.insert(waiting_.end(), &mine);
  bool has_turn = co_await await_turn(mine);
  waiting_.erase(place);
  // It goes on after the caller's message has been queued.
  if (!waiting_.empty()) waiting_.front()->cancel();
  co_return has_turn;
}

// The first waits for room, the others for their turn.
base::Task<bool> SendTurns::await_turn(asio::steady_timer& mine) {
  while (!closed_) {
    if (waiting_.front() != &mine) {
      boost::system::error_code woken;
      co_await mine.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    } else if (has_room()) {
      co_return true;
    } else if (!co_await connection_.drained()) {
      co_return false;
    }
    auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return false;
  }
  co_return false;
}

void SendTurns::close() {
  closed_ = true;
  for (auto* timer : waiting_) timer->cancel();
}

}  // namespace tool::transport

#include "base/runtime/task_group.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

namespace base {

namespace asio = boost::asio;

struct TaskGroup::State {
  explicit State(asio::any_io_executor e)
      : executor(std::move(e)), changed(executor, asio::steady_timer::time_point::max()) {}
  asio::any_io_executor executor;
  asio::steady_timer changed;  ///< Never fires: cancelled when a task ends.
  std::size_t running = 0;
};

TaskGroup::TaskGroup(asio::any_io_executor executor)
    : state_(std::make_shared<State>(std::move(executor))) {}

TaskGroup::~TaskGroup() = default;

void TaskGroup::spawn(Task<void> task) { spawn(std::move(task), nullptr); }

void TaskGroup::spawn(Task<void> task, std::shared_ptr<asio::cancellation_signal> cancel) {
  state_->running += 1;
  auto slot = cancel ? cancel->slot() : asio::cancellation_slot();
  auto ended = [state = state_, cancel = std::move(cancel)](std::exception_ptr error) {
    if (error) std::terminate();
    state->running -= 1;
    state->changed.cancel();
  };
  asio::co_spawn(state_->executor, std::move(task),
                 asio::bind_cancellation_slot(slot, std::move(ended)));
}

std::size_t TaskGroup::running() const { return state_->running; }

Task<void> TaskGroup::wait() {
  auto state = state_;
  while (state->running > 0) {
    boost::system::error_code woken;
    co_await state->changed.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

}  // namespace base

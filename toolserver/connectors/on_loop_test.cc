#include "toolserver/connectors/on_loop.h"

#include <gtest/gtest.h>

#include <boost/asio/use_future.hpp>
#include <future>
#include <memory>
#include <stdexcept>

#include "base/runtime/workers.h"

namespace tool::connectors {
namespace {

namespace asio = boost::asio;
using std::chrono::microseconds;

// Until `time`, or until it is cancelled.
base::Task<Outcome<bool>> wait_for(microseconds time) {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (woken) co_return refuse(Code::kCancelled, "cancelled there");
  co_return true;
}

base::Task<Outcome<bool>> throws() {
  throw std::runtime_error("broken");
  co_return true;
}

struct OnLoopTest : ::testing::Test {
  // Runs on the first loop, with `cancel`.
  std::future<Outcome<bool>> start(base::Task<Outcome<bool>> task,
                                   asio::cancellation_signal& cancel) {
    return asio::co_spawn(workers.loop(0), on_loop(workers.loop(1).get_executor(), std::move(task)),
                          asio::bind_cancellation_slot(cancel.slot(), asio::use_future));
  }
  std::future<void> emit(asio::cancellation_signal& cancel) {
    auto emitted = std::make_shared<std::promise<void>>();
    asio::post(workers.loop(0), [&cancel, emitted] {
      cancel.emit(asio::cancellation_type::terminal);
      emitted->set_value();
    });
    return emitted->get_future();
  }

  base::Workers workers{2};
};

TEST_F(OnLoopTest, gives_what_the_task_gives) {
  asio::cancellation_signal cancel;
  EXPECT_TRUE(start(wait_for(microseconds(1)), cancel).get().value());
  auto thrown = start(throws(), cancel).get();
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, Code::kInternal);
  EXPECT_EQ(thrown.error().detail, "broken");
}

TEST_F(OnLoopTest, hands_a_cancellation_on_and_waits_for_what_comes_of_it) {
  asio::cancellation_signal cancel;
  auto waiting = start(wait_for(std::chrono::hours(1)), cancel);
  emit(cancel).get();
  auto outcome = waiting.get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "cancelled there");
}

// One by one, so that each has the memory of the one before it.
TEST_F(OnLoopTest, a_cancellation_at_the_end_of_one_call_is_not_that_of_the_next) {
  for (int i = 0; i < 2'000; ++i) {
    asio::cancellation_signal cancel, never;
    auto ending = start(wait_for(microseconds(i % 50)), cancel);
    emit(cancel).get();
    (void)ending.get();
    auto next = start(wait_for(microseconds(50)), never).get();
    ASSERT_TRUE(next) << "after " << i;
  }
}

}  // namespace
}  // namespace tool::connectors

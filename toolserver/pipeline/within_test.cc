#include "toolserver/pipeline/within.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <stdexcept>

namespace tool::pipeline {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

base::Task<Outcome<int>> at_once(Outcome<int> outcome) { co_return outcome; }

base::Task<Outcome<int>> throwing() {
  throw std::runtime_error("the reason");
  co_return 0;
}

// Waits `turns` of the loop.
base::Task<Outcome<int>> after(int turns) {
  for (int i = 0; i < turns; ++i) co_await asio::post(asio::use_awaitable);
  co_return 7;
}

// Ends when it is cancelled, and tells so.
base::Task<Outcome<int>> until_cancelled(bool& ended) {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer never(co_await asio::this_coro::executor, Steady::time_point::max());
  boost::system::error_code woken;
  co_await never.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  ended = true;
  co_return refuse(Code::kCancelled, "by its own word");
}

class WithinTest : public testing::Test {
 protected:
  base::Task<void> wait(base::Deadline deadline, base::Task<Outcome<int>> task) {
    co_await asio::this_coro::throw_if_cancelled(false);
    outcome_ = co_await within(deadline, std::move(task));
  }
  void start(base::Deadline deadline, base::Task<Outcome<int>> task) {
    asio::co_spawn(
        loop_, wait(deadline, std::move(task)),
        asio::bind_cancellation_slot(cancel_.slot(),
                                     [](const std::exception_ptr& error) { ASSERT_FALSE(error); }));
  }
  Outcome<int> run(base::Deadline deadline, base::Task<Outcome<int>> task) {
    start(deadline, std::move(task));
    loop_.run();
    return *outcome_;
  }

  asio::io_context loop_{1};
  asio::cancellation_signal cancel_;
  std::optional<Outcome<int>> outcome_;
};

TEST_F(WithinTest, gives_what_a_task_has_at_once) {
  EXPECT_EQ(run(Steady::now() + 1h, at_once(3)), 3);
}

TEST_F(WithinTest, needs_no_turn_of_the_loop_for_a_task_that_does_not_wait) {
  start(Steady::now() + 1h, at_once(3));
  loop_.run_one();
  EXPECT_TRUE(outcome_);
}

TEST_F(WithinTest, gives_what_a_task_has_later) { EXPECT_EQ(run(Steady::now() + 1h, after(3)), 7); }

TEST_F(WithinTest, gives_the_fault_of_the_task) {
  auto outcome = run(Steady::now() + 1h, at_once(refuse(Code::kUpstream, "gone")));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kUpstream);
}

TEST_F(WithinTest, makes_an_exception_an_internal_fault) {
  auto outcome = run(Steady::now() + 1h, throwing());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kInternal);
  EXPECT_EQ(outcome.error().detail, "the reason");
}

TEST_F(WithinTest, a_cancellation_of_before_ends_the_task_at_once) {
  bool ended = false;
  auto cancelled_first = [this](base::Task<Outcome<int>> task) -> base::Task<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    cancel_.emit(asio::cancellation_type::all);
    outcome_ = co_await within(Steady::now() + 1s, std::move(task));
  };
  asio::co_spawn(loop_, cancelled_first(until_cancelled(ended)),
                 asio::bind_cancellation_slot(cancel_.slot(), [](const std::exception_ptr&) {}));
  loop_.run();
  EXPECT_TRUE(ended);
  ASSERT_FALSE(*outcome_);
  EXPECT_EQ(outcome_->error().code, Code::kCancelled);
}

TEST_F(WithinTest, ends_the_task_at_the_deadline) {
  bool ended = false;
  auto outcome = run(Steady::now() + 1ms, until_cancelled(ended));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kTimeout);
  EXPECT_TRUE(ended);
}

TEST_F(WithinTest, ends_the_task_when_the_caller_is_cancelled) {
  bool ended = false;
  start(Steady::now() + 1h, until_cancelled(ended));
  loop_.run_one();
  cancel_.emit(asio::cancellation_type::terminal);
  loop_.run();
  ASSERT_FALSE(*outcome_);
  EXPECT_EQ(outcome_->error().code, Code::kCancelled);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace tool::pipeline

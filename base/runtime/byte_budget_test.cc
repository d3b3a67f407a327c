#include "base/runtime/byte_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <optional>
#include <vector>

#include "base/runtime/workers.h"

namespace base {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using Share = ByteBudget::Share;

RequestContext within(milliseconds time) {
  return {.deadline = std::chrono::steady_clock::now() + time};
}

// One event loop whose tasks come as far as they can.
class ByteBudgetTest : public ::testing::Test {
 protected:
  struct Taking {
    std::optional<Result<Share>> result;
    asio::cancellation_signal cancel;
    [[nodiscard]] bool has() const { return result && *result; }
    [[nodiscard]] std::optional<ErrorKind> kind() const {
      return result && !*result ? std::optional(result->error().kind()) : std::nullopt;
    }
  };

  void take(Taking& taking, std::size_t bytes, RequestContext context = {}) {
    asio::co_spawn(loop, budget.take(context, bytes),
                   asio::bind_cancellation_slot(
                       taking.cancel.slot(), [&taking](std::exception_ptr, Result<Share> result) {
                         taking.result.emplace(std::move(result));
                       }));
    settle();
  }
  void settle() {
    loop.restart();
    loop.poll();
  }
  void give_back(Taking& taking) {
    taking.result.reset();
    settle();
  }

  asio::io_context loop;
  ByteBudget budget{100, 3};
};

TEST_F(ByteBudgetTest, first_come_first_served_however_little_is_wanted) {
  Taking first, large, small;
  take(first, 60);
  EXPECT_TRUE(first.has());
  take(large, 50);
  take(small, 1);
  EXPECT_FALSE(large.result);
  EXPECT_FALSE(small.result) << "it has overtaken";
  give_back(first);
  EXPECT_TRUE(large.has());
  EXPECT_TRUE(small.has());
}

TEST_F(ByteBudgetTest, more_than_there_are_is_all_of_them) {
  Taking all, one;
  take(all, 1000);
  EXPECT_TRUE(all.has());
  take(one, 1);
  EXPECT_FALSE(one.result);
  give_back(all);
  EXPECT_TRUE(one.has());
}

TEST_F(ByteBudgetTest, half_of_the_time_is_waited) {
  Taking all, late, behind;
  take(all, 100);
  const auto begin = std::chrono::steady_clock::now();
  take(late, 100, within(milliseconds(200)));
  take(behind, 1);
  loop.restart();
  while (!late.result) loop.run_one();
  EXPECT_EQ(late.kind(), ErrorKind::kRateLimited);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(100));
  EXPECT_FALSE(behind.result);
  give_back(all);
  EXPECT_TRUE(behind.has());
}

TEST_F(ByteBudgetTest, who_goes_away_lets_those_behind_pass) {
  Taking some, gone, behind;
  take(some, 60);
  take(gone, 50);
  take(behind, 40);
  gone.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(gone.kind(), ErrorKind::kCancelled);
  EXPECT_TRUE(behind.has());
}

TEST_F(ByteBudgetTest, a_full_queue_answers_at_once) {
  Taking all, waiting[3], over;
  take(all, 100);
  for (auto& one : waiting) take(one, 1);
  take(over, 1);
  EXPECT_EQ(over.kind(), ErrorKind::kRateLimited);
  give_back(all);
  for (auto& one : waiting) EXPECT_TRUE(one.has());
}

Task<Result<int>> hold_often(ByteBudget* budget, std::atomic<int>* held, std::atomic<int>* most) {
  for (int i = 0; i < 300; ++i) {
    CO_ASSIGN_OR_RETURN(Share share, co_await budget->take({}, 50));
    int now = ++*held;
    if (now > *most) *most = now;
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    --*held;
  }
  co_return 0;
}

TEST(ByteBudget, is_kept_by_many_loops_at_once) {
  ByteBudget budget(100);
  std::atomic<int> held = 0;
  std::atomic<int> most = 0;
  Workers workers(3);
  std::vector<std::future<Result<int>>> all;
  for (int i = 0; i < 9; ++i) {
    all.push_back(
        asio::co_spawn(workers.loop(i % 3), hold_often(&budget, &held, &most), asio::use_future));
  }
  for (auto& one : all) EXPECT_TRUE(one.get());
  EXPECT_EQ(most, 2);
  workers.join();
}

}  // namespace
}  // namespace base

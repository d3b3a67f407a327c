#include "base/runtime/gather.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <memory>
#include <string>

namespace base {
namespace {

namespace asio = boost::asio;
using Gate = asio::experimental::channel<void(boost::system::error_code)>;

constexpr AtOnce kThree{3};

Error broken(std::size_t i) { return fail(ErrorKind::kUnavailable, std::to_string(i)); }

// Tasks that end when the test says so, with what it says.
class GatherFew : public ::testing::Test {
 protected:
  /// Begins the gathering of `count` tasks and lets it come as far as it can.
  void gather(std::size_t count, AtOnce most = kThree) {
    auto begin = [this](std::size_t i) { return task(this, i); };
    auto take = [this](std::size_t i, std::string text) {
      taken.push_back(std::to_string(i) + text);
      return i == untakeable ? Status(broken(i)) : Status();
    };
    asio::co_spawn(loop, gather_few(most, count, begin, take),
                   asio::bind_cancellation_slot(cancel.slot(), [this](auto error, Status status) {
                     ASSERT_FALSE(error);
                     outcome = std::move(status);
                   }));
    settle();
  }
  void end(std::size_t i, Result<std::string> with) {
    ends.emplace(i, std::move(with));
    gates.at(i)->try_send(boost::system::error_code{});
    settle();
  }
  void end(std::size_t i) { end(i, "ok"); }
  void settle() {
    loop.restart();
    loop.poll();
  }

  static Task<Result<std::string>> task(GatherFew* test, std::size_t i) {
    test->begun.push_back(i);
    test->running += 1;
    auto& gate = test->gates[i];
    gate = std::make_unique<Gate>(test->loop, 1);
    co_await gate->async_receive(asio::use_awaitable);
    test->running -= 1;
    co_return test->ends.at(i);
  }

  asio::io_context loop;
  std::map<std::size_t, std::unique_ptr<Gate>> gates;
  std::map<std::size_t, Result<std::string>> ends;
  asio::cancellation_signal cancel;
  std::vector<std::size_t> begun;
  std::size_t running = 0;
  std::size_t untakeable = 100;
  std::vector<std::string> taken;
  std::optional<Status> outcome;
};

using Indexes = std::vector<std::size_t>;
using Texts = std::vector<std::string>;

TEST_F(GatherFew, hands_on_in_the_order_of_the_tasks_however_they_end) {
  gather(3);
  end(2, "c");
  end(1, "b");
  EXPECT_EQ(taken, Texts());
  end(0, "a");
  EXPECT_EQ(taken, (Texts{"0a", "1b", "2c"}));
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(*outcome);
}

TEST_F(GatherFew, never_runs_more_than_it_may_and_fills_each_place_at_once) {
  gather(7);
  EXPECT_EQ(begun, (Indexes{0, 1, 2}));
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(running, std::min<std::size_t>(3, 7 - i));
    EXPECT_EQ(begun.size(), std::min<std::size_t>(i + 3, 7));
    end(i);
  }
  EXPECT_EQ(running, 0U);
  EXPECT_EQ(taken.size(), 7U);
  EXPECT_TRUE(*outcome);
}

TEST_F(GatherFew, holds_no_more_results_than_it_may_run_tasks) {
  gather(7);
  end(1);
  end(2);
  EXPECT_EQ(begun, (Indexes{0, 1, 2})) << "two results wait for the first";
  end(0);
  EXPECT_EQ(begun, (Indexes{0, 1, 2, 3, 4, 5}));
}

TEST_F(GatherFew, begins_nothing_after_a_failure_and_waits_for_what_runs) {
  gather(7);
  end(1, broken(1));
  end(0);
  EXPECT_EQ(begun, (Indexes{0, 1, 2}));
  EXPECT_FALSE(outcome) << "task 2 runs";
  end(2);
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error().message(), "1");
  EXPECT_EQ(taken, (Texts{"0ok"}));
  EXPECT_EQ(begun, (Indexes{0, 1, 2}));
}

TEST_F(GatherFew, of_two_failures_answers_that_of_the_earlier_task) {
  gather(3);
  end(2, broken(2));
  end(1, broken(1));
  end(0);
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error().message(), "1");
}

TEST_F(GatherFew, ends_when_a_result_cannot_be_taken) {
  untakeable = 1;
  gather(7);
  end(0);
  end(1);
  EXPECT_EQ(begun, (Indexes{0, 1, 2, 3}));
  end(3, broken(3));
  EXPECT_FALSE(outcome) << "task 2 runs";
  end(2);
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error().message(), "1");
  EXPECT_EQ(taken, (Texts{"0ok", "1ok"}));
}

TEST_F(GatherFew, cancelled_begins_nothing_more_and_waits_for_what_runs) {
  gather(7);
  end(0);
  cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(running, 3U) << "tasks are not interrupted";
  EXPECT_FALSE(outcome);
  for (std::size_t i : {1, 2, 3}) end(i);
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error().kind(), ErrorKind::kCancelled);
  EXPECT_EQ(begun, (Indexes{0, 1, 2, 3}));
  EXPECT_EQ(taken, (Texts{"0ok"}));
}

TEST_F(GatherFew, of_nothing_is_done_at_once) {
  gather(0);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(*outcome);
  EXPECT_EQ(begun, Indexes());
}

TEST_F(GatherFew, with_room_for_none_runs_one) {
  gather(2, AtOnce{0});
  EXPECT_EQ(running, 1U);
  end(0);
  end(1);
  EXPECT_TRUE(*outcome);
}

Task<Result<std::size_t>> twice(std::size_t i) { co_return 2 * i; }

TEST(GatherFewValues, keeps_what_many_tasks_give_that_end_as_they_begin) {
  asio::io_context loop;
  std::optional<Result<Indexes>> all;
  asio::co_spawn(loop, gather_few(AtOnce{8}, 10'000, twice),
                 [&](auto error, Result<Indexes> given) {
                   ASSERT_FALSE(error);
                   all = std::move(given);
                 });
  loop.run();
  ASSERT_TRUE(all && *all);
  ASSERT_EQ((*all)->size(), 10'000U);
  for (std::size_t i = 0; i < 10'000; ++i) ASSERT_EQ((**all)[i], 2 * i);
}

Task<Status> odd_fails(std::size_t i) {
  if (i % 2 == 1) co_return broken(i);
  co_return Status{};
}

Status gathered(std::size_t count) {
  asio::io_context loop;
  std::optional<Status> outcome;
  asio::co_spawn(loop, gather_few(AtOnce{2}, count, odd_fails), [&](auto error, Status status) {
    ASSERT_FALSE(error);
    outcome = std::move(status);
  });
  loop.run();
  return *outcome;
}

TEST(GatherFewStatuses, say_whether_one_of_them_failed) {
  EXPECT_TRUE(gathered(0));
  EXPECT_TRUE(gathered(1));
  Status failed = gathered(5);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "1");
}

}  // namespace
}  // namespace base

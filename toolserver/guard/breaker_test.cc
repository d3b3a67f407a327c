#include "toolserver/guard/breaker.h"

#include <gtest/gtest.h>

namespace tool::guard {
namespace {

using std::chrono::milliseconds;

TEST(CircuitBreaker, opens_after_failures_in_a_row_and_lets_one_try_after_a_pause) {
  CircuitBreaker breaker;
  CircuitBreaker::Time now{std::chrono::hours(1)};
  for (std::size_t i = 0; i < CircuitBreaker::kFailures; ++i) {
    EXPECT_TRUE(breaker.admits(now));
    breaker.failed(now);
  }
  EXPECT_FALSE(breaker.admits(now));
  EXPECT_FALSE(breaker.admits(now + CircuitBreaker::kFirstPause - milliseconds(1)));
  now += CircuitBreaker::kFirstPause;
  EXPECT_TRUE(breaker.admits(now));
  EXPECT_FALSE(breaker.admits(now)) << "one is enough";
  breaker.failed(now);
  EXPECT_FALSE(breaker.admits(now + CircuitBreaker::kFirstPause)) << "the next pause is longer";
  now += 2 * CircuitBreaker::kFirstPause;
  EXPECT_TRUE(breaker.admits(now));
  breaker.succeeded();
  EXPECT_TRUE(breaker.admits(now));
  EXPECT_TRUE(breaker.admits(now));
}

TEST(CircuitBreaker, a_success_between_failures_keeps_it_closed) {
  CircuitBreaker breaker;
  CircuitBreaker::Time now{std::chrono::hours(1)};
  for (int i = 0; i < 20; ++i) {
    breaker.failed(now);
    breaker.failed(now);
    breaker.succeeded();
  }
  EXPECT_TRUE(breaker.admits(now));
}

TEST(CircuitBreaker, pauses_end_at_the_longest) {
  CircuitBreaker breaker;
  CircuitBreaker::Time now{std::chrono::hours(1)};
  for (int i = 0; i < 40; ++i) breaker.failed(now);
  EXPECT_FALSE(breaker.admits(now + CircuitBreaker::kLongestPause - milliseconds(1)));
  EXPECT_TRUE(breaker.admits(now + CircuitBreaker::kLongestPause));
}

}  // namespace
}  // namespace tool::guard

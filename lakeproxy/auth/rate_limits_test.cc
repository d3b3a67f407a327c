#include "lakeproxy/auth/rate_limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lake::auth {
namespace {

using std::chrono::seconds;
constexpr Steady kNow{};

TEST(RateLimits, a_bucket_is_emptied_and_fills_again) {
  RateLimits limits(2, 3);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limits.take("a", kNow)) << i;
  EXPECT_EQ(limits.take("a", kNow), seconds(1));
  EXPECT_EQ(limits.wait("a", kNow), seconds(1));
  EXPECT_FALSE(limits.take("b", kNow)) << "another name has its own";
  EXPECT_FALSE(limits.take("a", kNow + seconds(1)));
  EXPECT_FALSE(limits.take("a", kNow + seconds(1)));
  EXPECT_TRUE(limits.take("a", kNow + seconds(1)));
  EXPECT_FALSE(limits.wait("a", kNow + seconds(2)));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limits.take("a", kNow + seconds(3600))) << i;
  EXPECT_TRUE(limits.take("a", kNow + seconds(3600))) << "no more than it holds";
}

TEST(RateLimits, a_slow_bucket_says_how_long) {
  RateLimits limits(1.0 / 60, 1);
  EXPECT_FALSE(limits.take("a", kNow));
  EXPECT_EQ(limits.take("a", kNow), seconds(60));
  EXPECT_EQ(limits.take("a", kNow + seconds(45)), seconds(15));
}

TEST(RateLimits, remember_a_bounded_number_of_names_and_the_newest) {
  RateLimits limits(0.001, 1, 10);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(limits.take(fmt::format("name {}", i), kNow));
  EXPECT_EQ(limits.size(), 10U);
  EXPECT_TRUE(limits.take("name 999", kNow));
}

class Guesses : public ::testing::Test {
 protected:
  int before_blocked(std::string_view client, std::string_view peer) {
    int count = 0;
    for (; count < 2000 && !limits_.blocked(client, peer, kNow); ++count) {
      limits_.count_wrong(client, peer, kNow);
    }
    return count;
  }
  GuessLimits limits_{20};
};

TEST_F(Guesses, are_bounded_for_one_client_and_address) {
  EXPECT_EQ(before_blocked("etl", "192.0.2.1"), 20);
  EXPECT_EQ(limits_.blocked("etl", "192.0.2.1", kNow), seconds(3));
  EXPECT_FALSE(limits_.blocked("etl", "192.0.2.1", kNow + seconds(3)));
}

TEST_F(Guesses, do_not_lock_the_client_out_elsewhere) {
  before_blocked("etl", "192.0.2.1");
  EXPECT_FALSE(limits_.blocked("etl", "192.0.2.2", kNow));
}

TEST_F(Guesses, of_one_address_are_bounded_over_all_clients) {
  for (int i = 0; i < 100; ++i) limits_.count_wrong(fmt::format("c{}", i), "192.0.2.1", kNow);
  EXPECT_TRUE(limits_.blocked("another", "192.0.2.1", kNow));
  EXPECT_FALSE(limits_.blocked("another", "192.0.2.2", kNow));
}

TEST_F(Guesses, of_one_client_are_bounded_over_all_addresses) {
  for (int i = 0; i < 1000; ++i)
    limits_.count_wrong("etl", fmt::format("192.0.{}.{}", i / 200, i % 200), kNow);
  EXPECT_TRUE(limits_.blocked("etl", "198.51.100.1", kNow));
  EXPECT_FALSE(limits_.blocked("other", "198.51.100.1", kNow));
}

TEST_F(Guesses, of_ipv6_are_counted_by_network) {
  for (int i = 0; i < 20; ++i)
    limits_.count_wrong("etl", fmt::format("2001:db8:1:2:{:x}::1", i + 1), kNow);
  EXPECT_TRUE(limits_.blocked("etl", "2001:db8:1:2::9", kNow));
  EXPECT_FALSE(limits_.blocked("etl", "2001:db8:1:3::9", kNow));
  EXPECT_EQ(peer_network("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(peer_network("::ffff:192.0.2.1"), "::ffff:192.0.2.1");
}

TEST(GuessLimits, zero_blocks_nothing) {
  GuessLimits limits(0);
  for (int i = 0; i < 1000; ++i) limits.count_wrong("a", "b", kNow);
  EXPECT_FALSE(limits.blocked("a", "b", kNow));
}

}  // namespace
}  // namespace lake::auth

#include "toolserver/transport/reconnections.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace tool::transport {
namespace {

using std::chrono::seconds;

constexpr base::WallTime kNow{seconds(1'795'251'600)};

Followed session(std::string id, std::string token_id = "t1", std::string subject = "alice") {
  return {.id = std::move(id),
          .subject = std::move(subject),
          .issuer = "node-b",
          .key = "k",
          .token_id = std::move(token_id),
          .until = kNow + seconds(900),
          .opened = kNow,
          .shown = {},
          .leave = [] {}};
}

session::FormerSession token(std::string id, std::string token_id, std::string key = "k") {
  return {std::move(id), std::move(token_id), std::move(key)};
}

TEST(ReconnectionsTest, the_last_token_of_a_session_is_taken_once) {
  Reconnections kept;
  kept.keep(session("s1", "t1"), kNow);
  EXPECT_FALSE(kept.take(token("s1", "t2"), kNow));
  EXPECT_FALSE(kept.take(token("s2", "t1"), kNow));
  EXPECT_FALSE(kept.take(token("s1", "t1", "another key"), kNow));
  EXPECT_TRUE(kept.take(token("s1", "t1"), kNow + seconds(899)));
  EXPECT_FALSE(kept.take(token("s1", "t1"), kNow));
}

TEST(ReconnectionsTest, a_refresh_puts_another_token_in_its_place) {
  Reconnections kept;
  kept.keep(session("s1", "t1"), kNow);
  kept.keep(session("s1", "t2"), kNow);
  EXPECT_FALSE(kept.take(token("s1", "t1"), kNow));
  EXPECT_TRUE(kept.take(token("s1", "t2"), kNow));
}

TEST(ReconnectionsTest, a_token_past_its_time_and_one_of_an_ended_session_are_not_taken) {
  Reconnections kept;
  kept.keep(session("s1"), kNow);
  EXPECT_FALSE(kept.take(token("s1", "t1"), kNow + seconds(900)));
  kept.keep(session("s2"), kNow);
  kept.forget("s2");
  EXPECT_FALSE(kept.take(token("s2", "t1"), kNow));
  kept.keep(session("s3", "t1", "bob"), kNow);
  kept.keep(session("s4"), kNow);
  kept.forget_if([](const Followed& one) { return one.subject == "bob"; });
  EXPECT_FALSE(kept.take(token("s3", "t1"), kNow));
  EXPECT_TRUE(kept.take(token("s4", "t1"), kNow));
}

TEST(ReconnectionsTest, one_principal_pushes_out_its_own_and_nobody_elses) {
  Reconnections kept;
  kept.keep(session("of-bob", "t1", "bob"), kNow);
  for (std::size_t i = 0; i <= Reconnections::kOfPrincipal; ++i) {
    kept.keep(session("s" + std::to_string(i)), kNow);
  }
  EXPECT_FALSE(kept.take(token("s0", "t1"), kNow));
  EXPECT_TRUE(kept.take(token("s1", "t1"), kNow));
  EXPECT_TRUE(kept.take(token("of-bob", "t1"), kNow));
}

TEST(ReconnectionsTest, what_is_past_its_time_makes_room) {
  Reconnections kept;
  Followed old = session("old");
  old.until = kNow;
  for (std::size_t i = 0; i < Reconnections::kOfPrincipal; ++i) {
    old.id = "old" + std::to_string(i);
    kept.keep(old, kNow - seconds(1));
  }
  kept.keep(session("s1"), kNow);
  kept.keep(session("s2"), kNow);
  EXPECT_TRUE(kept.take(token("s1", "t1"), kNow));
}

}  // namespace
}  // namespace tool::transport

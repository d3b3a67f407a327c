#include "toolserver/pipeline/rate.h"

#include <gtest/gtest.h>

#include <vector>

namespace tool::pipeline {
namespace {

using std::chrono::milliseconds;

const Steady kStart = Steady(std::chrono::hours(1));

Principal named(std::string subject, std::string issuer = "i") {
  Principal principal;
  principal.subject = std::move(subject);
  principal.issuer = std::move(issuer);
  return principal;
}

Code refusal(RateStage& stage, const Principal& who, Steady now) {
  auto slot = stage.admit(who, "s", now);
  EXPECT_FALSE(slot.has_value());
  return slot ? Code::kInternal : slot.error().code;
}

TEST(RateTest, a_burst_passes_and_then_the_rate) {
  RateStage stage({.calls_per_second = 50, .burst = 100});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(stage.admit(named("a"), "s", kStart).has_value()) << i;
  auto refused = stage.admit(named("a"), "s", kStart);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kRate);
  EXPECT_EQ(refused.error().retry_after, milliseconds(20));
  EXPECT_EQ(refusal(stage, named("a"), kStart + milliseconds(19)), Code::kRate);
  EXPECT_TRUE(stage.admit(named("a"), "s", kStart + milliseconds(20)).has_value());
  EXPECT_EQ(refusal(stage, named("a"), kStart + milliseconds(20)), Code::kRate);
}

TEST(RateTest, a_long_pause_fills_no_more_than_the_burst) {
  RateStage stage({.calls_per_second = 50, .burst = 3});
  static_cast<void>(stage.admit(named("a"), "s", kStart));
  Steady later = kStart + std::chrono::hours(1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(stage.admit(named("a"), "s", later).has_value());
  EXPECT_EQ(refusal(stage, named("a"), later), Code::kRate);
}

TEST(RateTest, a_clock_that_stands_or_turns_back_gives_nothing) {
  RateStage stage({.calls_per_second = 50, .burst = 1});
  static_cast<void>(stage.admit(named("a"), "s", kStart));
  EXPECT_EQ(refusal(stage, named("a"), kStart - std::chrono::hours(1)), Code::kRate);
  EXPECT_EQ(refusal(stage, named("a"), kStart), Code::kRate);
}

TEST(RateTest, each_principal_has_its_own_bucket) {
  RateStage stage({.calls_per_second = 1, .burst = 1});
  EXPECT_TRUE(stage.admit(named("bc", "a"), "s", kStart).has_value());
  EXPECT_TRUE(stage.admit(named("c", "ab"), "s", kStart).has_value());
  EXPECT_EQ(refusal(stage, named("bc", "a"), kStart), Code::kRate);
}

TEST(RateTest, other_requests_take_of_the_same_bucket) {
  RateStage stage({.calls_per_second = 1, .burst = 2});
  EXPECT_TRUE(stage.take(named("a"), kStart).has_value());
  EXPECT_TRUE(stage.admit(named("a"), "s", kStart).has_value());
  EXPECT_EQ(stage.take(named("a"), kStart).error().code, Code::kRate);
  EXPECT_TRUE(stage.take(named("b"), kStart).has_value());
}

TEST(RateTest, a_refusal_costs_more_than_its_call) {
  RateStage stage({.calls_per_second = 1, .burst = 6});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(stage.take(named("a"), kStart).has_value());
    EXPECT_TRUE(stage.tolerates(named("a"), Code::kTool, kStart));
  }
  EXPECT_EQ(refusal(stage, named("a"), kStart), Code::kRate);
  // One for the rate costs nothing more: its caller is told when to come again.
  EXPECT_TRUE(stage.tolerates(named("a"), Code::kRate, kStart));
  EXPECT_TRUE(stage.take(named("a"), kStart + std::chrono::seconds(1)).has_value());
}

TEST(RateTest, who_is_refused_again_and_again_is_not_tolerated) {
  RateStage stage({.calls_per_second = 50, .burst = 100, .refusals = 20});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(stage.tolerates(named("a"), Code::kRate, kStart));
  EXPECT_FALSE(stage.tolerates(named("a"), Code::kTool, kStart));
  EXPECT_TRUE(stage.tolerates(named("b"), Code::kTool, kStart));
  Steady later = kStart + std::chrono::milliseconds(100);
  EXPECT_TRUE(stage.tolerates(named("a"), Code::kTool, later)) << "ten come back in a second";
  EXPECT_FALSE(stage.tolerates(named("a"), Code::kTool, later));
}

TEST(RateTest, a_session_has_so_many_calls_in_flight) {
  RateStage stage({.in_flight = 2});
  std::vector<RateStage::Slot> slots;
  slots.push_back(std::move(*stage.admit(named("a"), "s", kStart)));
  slots.push_back(std::move(*stage.admit(named("a"), "s", kStart)));
  EXPECT_EQ(refusal(stage, named("a"), kStart), Code::kBusy);
  EXPECT_TRUE(stage.admit(named("a"), "other", kStart).has_value());
  slots.pop_back();
  EXPECT_TRUE(stage.admit(named("a"), "s", kStart).has_value());
}

TEST(RateTest, too_many_callers_at_once_are_refused_and_idle_ones_make_room) {
  RateStage stage({.calls_per_second = 1, .burst = 1, .callers = 160});
  int refused = 0;
  for (int i = 0; i < 1'000; ++i) {
    auto slot = stage.admit(named(std::to_string(i)), "s", kStart);
    if (!slot) EXPECT_EQ(slot.error().code, Code::kBusy);
    refused += slot ? 0 : 1;
  }
  EXPECT_EQ(refused, 840);
  Steady later = kStart + std::chrono::seconds(2);
  EXPECT_TRUE(stage.admit(named("new"), "s", later).has_value());
}

}  // namespace
}  // namespace tool::pipeline

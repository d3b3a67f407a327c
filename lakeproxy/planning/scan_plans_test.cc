#include "lakeproxy/planning/scan_plans.h"

#include <gtest/gtest.h>

namespace lake::planning {
namespace {

class SetClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override { return now_; }
  void pass(std::chrono::microseconds time) { now_ += time; }

 private:
  base::WallTime now_{};
};

ScanPlanPtr plan_of(std::size_t files) {
  auto plan = std::make_shared<ScanPlan>();
  plan->files.resize(files);
  plan->page_size = 10;
  return plan;
}

class Plans : public ::testing::Test {
 protected:
  SetClock clock_;
  base::SystemRandom random_;
};

TEST_F(Plans, are_given_to_whom_they_were_made_for_and_to_nobody_else) {
  ScanPlans plans(clock_, random_);
  const auto plan = plan_of(1);
  const auto id = plans.add("a", plan);
  ASSERT_TRUE(id);
  EXPECT_EQ(plans.find("a", *id), plan);
  EXPECT_EQ(plans.find("b", *id), nullptr);
  EXPECT_EQ(plans.find("a", "x"), nullptr);
  EXPECT_FALSE(plans.remove("b", *id));
  EXPECT_NE(plans.find("a", *id), nullptr);
  EXPECT_TRUE(plans.remove("a", *id));
  EXPECT_EQ(plans.find("a", *id), nullptr);
  EXPECT_FALSE(plans.remove("a", *id));
}

TEST_F(Plans, end_with_their_time) {
  ScanPlans plans(clock_, random_, {.life = std::chrono::minutes(10)});
  const auto id = plans.add("a", plan_of(1));
  clock_.pass(std::chrono::minutes(10) - std::chrono::microseconds(1));
  EXPECT_NE(plans.find("a", *id), nullptr);
  clock_.pass(std::chrono::microseconds(1));
  EXPECT_EQ(plans.find("a", *id), nullptr);
  EXPECT_EQ(plans.size(), 0U);
}

TEST_F(Plans, that_were_told_whole_make_room_first) {
  ScanPlans plans(clock_, random_, {.plans = 2});
  const auto large = plans.add("a", plan_of(11));
  const auto small = plans.add("a", plan_of(10));
  const auto next = plans.add("b", plan_of(11));
  ASSERT_TRUE(next);
  EXPECT_NE(plans.find("a", *large), nullptr);
  EXPECT_EQ(plans.find("a", *small), nullptr);
}

TEST_F(Plans, of_others_that_are_being_read_are_not_pushed_out) {
  ScanPlans plans(clock_, random_, {.plans = 2});
  const auto first = plans.add("a", plan_of(11));
  const auto second = plans.add("a", plan_of(11));
  EXPECT_EQ(plans.add("b", plan_of(1)).error().kind(), base::ErrorKind::kRateLimited);
  ASSERT_TRUE(plans.add("a", plan_of(11)));
  EXPECT_EQ(plans.find("a", *first), nullptr);
  EXPECT_NE(plans.find("a", *second), nullptr);
}

TEST_F(Plans, are_bounded_in_bytes_and_one_always_fits) {
  const std::size_t one = plan_of(1000)->bytes();
  ScanPlans plans(clock_, random_, {.bytes = one + one / 2});
  const auto first = plans.add("a", plan_of(1000));
  ASSERT_TRUE(first);
  ASSERT_TRUE(plans.add("a", plan_of(1000)));
  EXPECT_EQ(plans.size(), 1U);
  ASSERT_TRUE(plans.add("a", plan_of(5000)));
  EXPECT_EQ(plans.size(), 1U);
}

TEST(PageName, is_read_as_it_was_written_and_nothing_else_is) {
  const std::string id = "272d8652-037c-4c46-8c1c-96a67730ff4c";
  const auto name = parse_page_name(to_string({id, 12}));
  ASSERT_TRUE(name);
  EXPECT_EQ(name->plan_id, id);
  EXPECT_EQ(name->page, 12U);
  for (const std::string& text :
       {std::string(), id, id + ".", id + ".-1", id + ".x", id + "x1", id + ".1234567890",
        id + ".012", id + ".-0", "." + id, std::string(5000, '1')}) {
    EXPECT_FALSE(parse_page_name(text)) << text;
  }
}

}  // namespace
}  // namespace lake::planning

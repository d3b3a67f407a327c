#include "toolserver/guard/decision_cache.h"

#include <gtest/gtest.h>

namespace tool::guard {
namespace {

using std::chrono::milliseconds;

PolicyAnswer answer(Effect effect, std::string revision) {
  PolicyAnswer one;
  one.effect = effect;
  one.revision = std::move(revision);
  return one;
}

const DecisionCache::Time kNow{std::chrono::hours(1)};

TEST(DecisionCache, an_equal_question_gets_the_same_answer_for_its_time) {
  DecisionCache cache(milliseconds(100), 10);
  std::string key = DecisionCache::key_of("q1");
  EXPECT_FALSE(cache.find(key, kNow).has_value());
  cache.came(key, answer(Effect::kAllow, "r1"), kNow);
  ASSERT_TRUE(cache.find(key, kNow + milliseconds(99)).has_value());
  EXPECT_EQ(cache.find(key, kNow)->effect, Effect::kAllow);
  EXPECT_FALSE(cache.find(DecisionCache::key_of("q2"), kNow).has_value());
  EXPECT_FALSE(cache.find(key, kNow + milliseconds(100)).has_value());
}

TEST(DecisionCache, another_revision_forgets_all) {
  DecisionCache cache(milliseconds(100), 10);
  cache.came("a", answer(Effect::kAllow, "r1"), kNow);
  cache.came("b", answer(Effect::kDeny, "r2"), kNow);
  EXPECT_FALSE(cache.find("a", kNow).has_value());
  EXPECT_TRUE(cache.find("b", kNow).has_value());
  cache.came("c", answer(Effect::kAllow, ""), kNow);
  EXPECT_FALSE(cache.find("b", kNow).has_value());
  cache.came("d", answer(Effect::kAllow, "r3"), kNow);
  cache.saw("r3");
  EXPECT_TRUE(cache.find("d", kNow).has_value());
  cache.saw("r4");
  EXPECT_FALSE(cache.find("d", kNow).has_value());
}

TEST(DecisionCache, what_must_not_be_kept_is_not) {
  DecisionCache cache(milliseconds(100), 10);
  cache.came("a", answer(Effect::kAllow, ""), kNow);
  EXPECT_FALSE(cache.find("a", kNow).has_value()) << "of an unknown revision";
  PolicyAnswer one = answer(Effect::kAllow, "r");
  one.is_kept = false;
  cache.came("a", one, kNow);
  EXPECT_FALSE(cache.find("a", kNow).has_value());
  PolicyAnswer two = answer(Effect::kQuarantine, "r");
  two.quarantines = true;
  cache.came("a", two, kNow);
  EXPECT_FALSE(cache.find("a", kNow).has_value());
  DecisionCache off(milliseconds(0), 10);
  off.came("a", answer(Effect::kAllow, "r"), kNow);
  EXPECT_FALSE(off.find("a", kNow).has_value());
}

TEST(DecisionCache, a_full_one_asks_until_there_is_room) {
  DecisionCache cache(milliseconds(100), 2);
  cache.came("a", answer(Effect::kAllow, "r"), kNow);
  cache.came("b", answer(Effect::kAllow, "r"), kNow);
  cache.came("c", answer(Effect::kAllow, "r"), kNow);
  EXPECT_TRUE(cache.find("a", kNow).has_value());
  EXPECT_FALSE(cache.find("c", kNow).has_value());
  cache.came("c", answer(Effect::kAllow, "r"), kNow + milliseconds(100));
  EXPECT_TRUE(cache.find("c", kNow + milliseconds(150)).has_value());
}

}  // namespace
}  // namespace tool::guard

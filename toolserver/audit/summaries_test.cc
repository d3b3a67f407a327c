#include "toolserver/audit/summaries.h"

#include <gtest/gtest.h>

namespace tool::audit {
namespace {

using std::chrono::seconds;

const base::WallTime kStart{std::chrono::microseconds(1'795'251'600'000'000)};

Act act_of(std::string subject, std::string_view code = "E_RATE", std::string peer = "10.0.0.1") {
  return {"call_refused", code, std::move(subject), "node-a", std::move(peer)};
}

int singles(Summaries& summaries, const Act& act, base::WallTime now, int acts) {
  int count = 0;
  for (int i = 0; i < acts; ++i) {
    if (summaries.admit(act, now)) {
      ++count;
    } else {
      summaries.count(act, now);
    }
  }
  return count;
}

TEST(SummariesTest, a_source_has_some_lines_and_then_one_a_second) {
  Summaries summaries;
  EXPECT_EQ(singles(summaries, act_of("eve"), kStart, 20), 20);
  EXPECT_EQ(singles(summaries, act_of("eve"), kStart, 1), 0);
  EXPECT_EQ(singles(summaries, act_of("bob"), kStart, 20), 20);  // Another's allowance.
  auto due = summaries.next_due(kStart + seconds(10));
  ASSERT_TRUE(due.has_value());
  summaries.written(kStart + seconds(10));
  EXPECT_EQ(singles(summaries, act_of("eve"), kStart + seconds(10), 100), 10);
}

TEST(SummariesTest, a_summary_says_who_and_how_often_by_code_and_when) {
  Summaries summaries;
  singles(summaries, act_of("eve"), kStart, 25);
  singles(summaries, act_of("eve", "E_TOOL", "10.0.0.2"), kStart + seconds(2), 3);
  EXPECT_FALSE(summaries.next_due(kStart + seconds(9)).has_value());
  auto due = summaries.next_due(kStart + seconds(10));
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->at("act"), "call_refused");
  EXPECT_EQ(due->at("codes").at("E_RATE"), 5u);
  EXPECT_EQ(due->at("codes").at("E_TOOL"), 3u);
  EXPECT_EQ(due->at("peers").at("10.0.0.2"), 3u);
  EXPECT_EQ(due->at("principal").at("sub"), "eve");
  EXPECT_EQ(due->at("from"), "2026-11-21T09:00:00.000000Z");
  EXPECT_EQ(due->at("to"), "2026-11-21T09:00:02.000000Z");
}

TEST(SummariesTest, a_summary_that_is_not_written_is_not_lost) {
  Summaries summaries;
  singles(summaries, act_of("eve"), kStart, 25);
  auto later = kStart + seconds(10);
  EXPECT_TRUE(summaries.next_due(later).has_value());
  EXPECT_TRUE(summaries.next_due(later).has_value());
  summaries.written(later);
  EXPECT_FALSE(summaries.next_due(later).has_value());
  EXPECT_FALSE(summaries.has_counts());
}

TEST(SummariesTest, strangers_share_one_allowance) {
  Summaries summaries;
  int lines = 0;
  for (int i = 0; i < 1'000; ++i) {
    Act act{"login_refused", "E_AUTH", "", "",
            "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250)};
    lines += singles(summaries, act, kStart, 1);
  }
  EXPECT_EQ(lines, 20);
  auto due = summaries.next_due(kStart + seconds(10));
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->at("peers").as_object().size(), Summaries::kPeers + 1);
  EXPECT_FALSE(due->contains("principal"));
}

TEST(SummariesTest, any_number_of_names_takes_bounded_room) {
  Summaries summaries;
  int lines = 0;
  for (int i = 0; i < 10'000; ++i) {
    lines += singles(summaries, act_of("s" + std::to_string(i)), kStart, 1);
  }
  EXPECT_LE(lines, static_cast<int>(Summaries::kSources) + 20);
  summaries.end();
  int summed = 0;
  while (auto due = summaries.next_due(kStart)) {
    summed += static_cast<int>(due->at("codes").at("E_RATE").to_number<int>());
    summaries.written(kStart);
  }
  EXPECT_EQ(lines + summed, 10'000);
}

}  // namespace
}  // namespace tool::audit

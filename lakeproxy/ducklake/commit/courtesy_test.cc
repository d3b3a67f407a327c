#include "lakeproxy/ducklake/commit/courtesy.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using std::chrono::milliseconds;

const Courtesy::Time kStart{std::chrono::hours(1)};

TEST(Courtesy, leaves_no_gap_while_nobody_loses) {
  Courtesy courtesy;
  EXPECT_EQ(courtesy.next(kStart), kStart);
  courtesy.saw(7, kStart);
  courtesy.saw(7, kStart);
  EXPECT_EQ(courtesy.next(kStart), kStart) << "losses of earlier days do not count";
}

TEST(Courtesy, leaves_longer_gaps_while_others_lose_up_to_a_bound) {
  Courtesy courtesy;
  courtesy.saw(0, kStart);
  auto gap = Courtesy::Span::zero();
  for (int i = 1; i < 10; ++i) {
    courtesy.saw(i, kStart);
    const auto now = std::chrono::duration_cast<milliseconds>(courtesy.next(kStart) - kStart);
    EXPECT_GE(now, gap);
    gap = now;
  }
  EXPECT_EQ(gap, Courtesy::kMost);
}

TEST(Courtesy, counts_the_gap_from_the_end_of_the_last_transaction) {
  Courtesy courtesy;
  courtesy.saw(0, kStart);
  courtesy.saw(1, kStart);
  EXPECT_EQ(courtesy.next(kStart + milliseconds(4)), kStart + Courtesy::kFirst);
  EXPECT_EQ(courtesy.next(kStart + Courtesy::kFirst), kStart + Courtesy::kFirst);
}

TEST(Courtesy, forgets) {
  Courtesy courtesy;
  courtesy.saw(0, kStart);
  for (int i = 1; i < 10; ++i) courtesy.saw(i, kStart);
  const auto later = kStart + Courtesy::kForgets;
  courtesy.saw(9, later);
  EXPECT_EQ(courtesy.next(later), later + Courtesy::kMost / 2);
  const auto much_later = kStart + 20 * Courtesy::kForgets;
  courtesy.saw(9, much_later);
  EXPECT_EQ(courtesy.next(much_later), much_later);
}

}  // namespace
}  // namespace lake::ducklake

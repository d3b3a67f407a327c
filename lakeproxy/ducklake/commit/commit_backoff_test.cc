#include "lakeproxy/ducklake/commit/commit_backoff.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using std::chrono::milliseconds;

const CommitBackoff::Time kStart{std::chrono::hours(1)};

TEST(CommitBackoff, leaves_no_gap_while_nobody_loses) {
  CommitBackoff backoff;
  EXPECT_EQ(backoff.next(kStart), kStart);
  backoff.observe(7, kStart);
  backoff.observe(7, kStart);
  EXPECT_EQ(backoff.next(kStart), kStart) << "conflicts of earlier days do not count";
}

TEST(CommitBackoff, leaves_longer_gaps_while_others_lose_up_to_a_bound) {
  CommitBackoff backoff;
  backoff.observe(0, kStart);
  auto gap = CommitBackoff::Span::zero();
  for (int i = 1; i < 10; ++i) {
    backoff.observe(i, kStart);
    const auto now = std::chrono::duration_cast<milliseconds>(backoff.next(kStart) - kStart);
    EXPECT_GE(now, gap);
    gap = now;
  }
  EXPECT_EQ(gap, CommitBackoff::kMost);
}

TEST(CommitBackoff, counts_the_gap_from_the_end_of_the_last_transaction) {
  CommitBackoff backoff;
  backoff.observe(0, kStart);
  backoff.observe(1, kStart);
  EXPECT_EQ(backoff.next(kStart + milliseconds(4)), kStart + CommitBackoff::kFirst);
  EXPECT_EQ(backoff.next(kStart + CommitBackoff::kFirst), kStart + CommitBackoff::kFirst);
}

TEST(CommitBackoff, forgets) {
  CommitBackoff backoff;
  backoff.observe(0, kStart);
  for (int i = 1; i < 10; ++i) backoff.observe(i, kStart);
  const auto later = kStart + CommitBackoff::kForgets;
  backoff.observe(9, later);
  EXPECT_EQ(backoff.next(later), later + CommitBackoff::kMost / 2);
  const auto much_later = kStart + 20 * CommitBackoff::kForgets;
  backoff.observe(9, much_later);
  EXPECT_EQ(backoff.next(much_later), much_later);
}

}  // namespace
}  // namespace lake::ducklake

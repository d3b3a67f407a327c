#pragma once

// A DuckDB client that commits takes the next snapshot id without asking for
// our lock, and tries again ten times, a little later each time, when somebody
// else has taken it. Commits of ours that follow each other without a gap would
// take it from under every attempt. So we count the write conflicts of others with us
// (db/6_guards.sql), and while there are more, we leave gaps.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace lake::ducklake {

/// Of one committer. A plain value: time is given to it.
class CommitBackoff {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Span = std::chrono::milliseconds;

  static constexpr Span kFirst{10};     ///< The first gap after a conflict.
  static constexpr Span kMost{160};     ///< Longer than DuckDB needs from its look to its commit.
  static constexpr Span kForgets{500};  ///< Without conflicts the gap halves in this time.

  /// After a transaction that ended at `now`: how many write conflicts others had
  /// since the database was made.
  void observe(std::int64_t foreign_conflicts, Time now) {
    const bool more = foreign_conflicts_ && foreign_conflicts != *foreign_conflicts_;
    foreign_conflicts_ = foreign_conflicts;
    ended_ = now;
    if (more) {
      gap_ = std::clamp(gap_at(now) * 2, kFirst, kMost);
      since_ = now;
    }
  }
  /// When the next transaction may begin.
  [[nodiscard]] Time next(Time now) const {
    const Span gap = gap_at(now);
    return gap == Span::zero() ? now : std::max(now, ended_ + gap);
  }

 private:
  [[nodiscard]] Span gap_at(Time now) const {
    Span gap = gap_;
    for (Time at = since_ + kForgets; at <= now && gap > Span::zero(); at += kForgets) {
      gap = gap / 2 < kFirst ? Span::zero() : gap / 2;
    }
    return gap;
  }

  std::optional<std::int64_t> foreign_conflicts_;
  Span gap_{};
  Time since_{};  ///< The last conflict that was seen.
  Time ended_{};
};

}  // namespace lake::ducklake

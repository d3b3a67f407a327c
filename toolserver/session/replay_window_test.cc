#include "toolserver/session/replay_window.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "toolserver/session/fixture_test.h"

namespace tool::session {
namespace {

using std::chrono::milliseconds;
using testing::TestRandom;

const WireTime kStart{milliseconds(1'795'251'600'000)};

MessageNonce nonce_of(std::uint64_t number) {
  MessageNonce nonce{};
  std::memcpy(nonce.data(), &number, sizeof number);
  return nonce;
}

struct Sessions {
  Ulid make() { return Ulid::make(kStart, random); }
  TestRandom random;
};

std::string answer(const Outcome<void>& outcome) {
  return outcome ? "ok" : std::string(name(outcome.error().code));
}

TEST(ReplayWindowTest, takes_what_is_fresh_at_both_ends) {
  struct Case {
    std::int64_t window, now, time;
    const char* wanted;
  };
  // Times relative to kStart, in milliseconds.
  const std::vector<Case> cases = {
      {60'000, 0, 0, "ok"},
      {60'000, 0, 60'000, "ok"},
      {60'000, 0, 60'001, "E_STALE"},
      {60'000, 100'000, 40'000, "ok"},
      {60'000, 100'000, 39'999, "E_STALE"},
      {60'000, 10, 0, "ok"},
      {60'000, 10, -1, "ok"},
      {5'000, 10'000, 5'000, "ok"},
      {5'000, 10'000, 4'999, "E_STALE"},
      {5'000, 10'000, 15'000, "ok"},
      {5'000, 10'000, 15'001, "E_STALE"},
      {300'000, 300'000, 0, "ok"},
      {300'000, 300'001, 0, "E_STALE"},
      {300'000, 0, 300'000, "ok"},
      {300'000, 0, 300'001, "E_STALE"},
  };
  for (const auto& row : cases) {
    Sessions sessions;
    ReplayWindow window({.window = milliseconds(row.window)}, sessions.random);
    auto time = kStart + milliseconds(row.time);
    auto now = kStart + milliseconds(row.now);
    Ulid session = sessions.make();
    EXPECT_EQ(answer(window.check_fresh(time, now)), row.wanted) << row.time;
    EXPECT_EQ(answer(window.admit(session, nonce_of(1), time, now)), row.wanted) << row.time;
    std::string again = std::string(row.wanted) == "ok" ? "E_REPLAY" : "E_STALE";
    EXPECT_EQ(answer(window.admit(session, nonce_of(1), time, now)), again) << row.time;
  }
}

// Whenever a message is still fresh, its nonce is still remembered.
TEST(ReplayWindowTest, remembers_as_long_as_a_message_is_fresh) {
  for (std::int64_t ahead : {-60'000, -59'999, -7'500, -1, 0, 1, 7'499, 59'999, 60'000}) {
    Sessions sessions;
    ReplayWindow window({}, sessions.random);
    Ulid session = sessions.make();
    WireTime time = kStart + milliseconds(ahead);
    ASSERT_EQ(answer(window.admit(session, nonce_of(1), time, kStart)), "ok");
    for (std::int64_t later = 0; later <= 130'000; later += 500) {
      WireTime now = kStart + milliseconds(later);
      // Others go on in the meantime.
      EXPECT_EQ(answer(window.admit(session, nonce_of(1000 + static_cast<std::uint64_t>(later)),
                                    now, now)),
                "ok");
      std::string wanted = now - time <= milliseconds(60'000) ? "E_REPLAY" : "E_STALE";
      EXPECT_EQ(answer(window.admit(session, nonce_of(1), time, now)), wanted) << ahead << later;
    }
  }
}

TEST(ReplayWindowTest, a_clock_that_is_set_back_brings_nothing_back) {
  Sessions sessions;
  ReplayWindow window({}, sessions.random);
  Ulid session = sessions.make();
  ASSERT_EQ(answer(window.admit(session, nonce_of(1), kStart, kStart)), "ok");
  WireTime later = kStart + milliseconds(10'000'000);
  ASSERT_EQ(answer(window.admit(session, nonce_of(2), later, later)), "ok");
  EXPECT_EQ(answer(window.admit(session, nonce_of(1), kStart, kStart)), "E_STALE");
  EXPECT_EQ(answer(window.admit(session, nonce_of(3), kStart, kStart)), "E_STALE");
}

TEST(ReplayWindowTest, the_zero_nonce_is_a_nonce) {
  Sessions sessions;
  ReplayWindow window({}, sessions.random);
  Ulid session = sessions.make();
  EXPECT_EQ(answer(window.admit(session, {}, kStart, kStart)), "ok");
  EXPECT_EQ(answer(window.admit(session, {}, kStart, kStart)), "E_REPLAY");
}

TEST(ReplayWindowTest, sessions_do_not_share_nonces) {
  Sessions sessions;
  ReplayWindow window({}, sessions.random);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(answer(window.admit(sessions.make(), nonce_of(1), kStart, kStart)), "ok");
  }
  EXPECT_EQ(window.size(), 100U);
}

TEST(ReplayWindowTest, one_session_holds_at_most_a_tenth) {
  Sessions sessions;
  ReplayWindow window({.entries = 1000}, sessions.random);
  Ulid greedy = sessions.make();
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(answer(window.admit(greedy, nonce_of(i), kStart, kStart)), "ok") << i;
  }
  auto refused = window.admit(greedy, nonce_of(100), kStart, kStart);
  EXPECT_EQ(answer(refused), "E_BUSY");
  EXPECT_EQ(refused.error().retry_after, kRetryWhenFull);
  EXPECT_EQ(answer(window.admit(greedy, nonce_of(7), kStart, kStart)), "E_REPLAY");
  EXPECT_EQ(answer(window.admit(sessions.make(), nonce_of(0), kStart, kStart)), "ok");
  // Refused is not remembered: there is room again once the first are stale.
  WireTime later = kStart + milliseconds(70'000);
  EXPECT_EQ(answer(window.admit(greedy, nonce_of(100), later, later)), "ok");
}

TEST(ReplayWindowTest, is_full_at_its_size_and_empties_with_time) {
  Sessions sessions;
  ReplayWindow window({.entries = 1000}, sessions.random);
  for (int session = 0; session < 10; ++session) {
    Ulid id = sessions.make();
    for (std::uint64_t i = 0; i < 100; ++i)
      ASSERT_TRUE(window.admit(id, nonce_of(i), kStart, kStart));
  }
  EXPECT_EQ(window.size(), 1000U);
  EXPECT_EQ(answer(window.admit(sessions.make(), nonce_of(1), kStart, kStart)), "E_BUSY");
  EXPECT_EQ(window.size(), 1000U);
  WireTime later = kStart + milliseconds(70'000);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(answer(window.admit(sessions.make(), nonce_of(i), later, later)), "ok") << i;
  }
  EXPECT_EQ(answer(window.admit(sessions.make(), nonce_of(1), later, later)), "E_BUSY");
}

TEST(ReplayWindowTest, forgets_a_session_that_ended) {
  Sessions sessions;
  ReplayWindow window({.entries = 100}, sessions.random);
  for (int i = 0; i < 50; ++i) {
    Ulid id = sessions.make();
    for (std::uint64_t n = 0; n < 10; ++n)
      ASSERT_TRUE(window.admit(id, nonce_of(n), kStart, kStart));
    window.forget(id);
    EXPECT_EQ(window.size(), 0U);
  }
}

TEST(ReplayWindowTest, admits_a_message_once_whoever_asks) {
  Sessions sessions;
  ReplayWindow window({.entries = 100'000}, sessions.random);
  std::vector<Ulid> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(sessions.make());
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; n < 500; ++n) {
        for (const auto& id : ids) {
          auto now = kStart + milliseconds(n * 300);
          if (window.admit(id, nonce_of(n), now, now)) ++taken;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  // Threads run apart: who is late finds the message seen, or stale.
  EXPECT_LE(taken, 20 * 500);
  EXPECT_GE(taken, 20 * 100);
  for (const auto& id : ids) window.forget(id);
  EXPECT_EQ(window.size(), 0U);
}

TEST(NonceSetTest, keeps_every_nonce_while_it_grows) {
  NonceSet set;
  NonceSet::Key key{0x1234567812345678, 0x9876543298765432};
  for (std::uint64_t i = 0; i < 5000; ++i) {
    ASSERT_FALSE(set.contains(nonce_of(i), key)) << i;
    set.add(nonce_of(i), key);
  }
  for (std::uint64_t i = 0; i < 5000; ++i) ASSERT_TRUE(set.contains(nonce_of(i), key)) << i;
  EXPECT_FALSE(set.contains(nonce_of(5000), key));
  EXPECT_EQ(set.size(), 5000U);
}

}  // namespace
}  // namespace tool::session

#include "base/postgres/listener.h"

#include "base/postgres/fixture_test.h"

namespace base::pg {
namespace {

using Payloads = std::vector<std::string>;

class ListenerTest : public PoolFixture {
 protected:
  std::unique_ptr<Listener> listener(const std::string& channel) {
    auto opened = run(Listener::open(soon(), server_options(), channel));
    EXPECT_TRUE(opened) << opened.error().detail();
    return std::move(*opened);
  }

  static void notify(const std::string& channel, const std::string& payload) {
    ASSERT_TRUE(ask({{"SELECT pg_notify($1::text, $2::text)"}, {param(channel), param(payload)}}));
  }
};

TEST_F(ListenerTest, hears_what_others_commit) {
  auto ours = listener("here");
  notify("here", "one");
  notify("elsewhere", "never");
  auto heard = run(ours->next(soon()));
  ASSERT_TRUE(heard);
  EXPECT_EQ(*heard, Payloads{"one"});
  notify("here", "two");
  EXPECT_EQ(*run(ours->next(soon())), Payloads{"two"});
}

TEST_F(ListenerTest, gives_what_came_together_once) {
  auto ours = listener("many");
  for (const char* payload : {"a", "b", "a"}) notify("many", payload);
  Payloads heard;
  while (heard.size() < 2) {
    for (auto& payload : *run(ours->next(soon()))) heard.push_back(payload);
  }
  EXPECT_EQ(heard[0], "a");
  EXPECT_EQ(heard[1], "b");
}

TEST_F(ListenerTest, takes_any_channel_name) {
  auto ours = listener("a\"; DROP SCHEMA public; --");
  notify("a\"; DROP SCHEMA public; --", "x");
  EXPECT_EQ(*run(ours->next(soon())), Payloads{"x"});
}

TEST_F(ListenerTest, says_nothing_when_nothing_came_in_time) {
  auto ours = listener("quiet");
  auto heard = run(ours->next(within(std::chrono::milliseconds(50))));
  ASSERT_TRUE(heard);
  EXPECT_TRUE(heard->empty());
  notify("quiet", "later");
  EXPECT_EQ(*run(ours->next(soon())), Payloads{"later"});
}

TEST_F(ListenerTest, one_of_two_holds_a_lock_until_it_goes) {
  auto first = listener("c");
  auto second = listener("c");
  EXPECT_TRUE(*run(first->try_lock(soon(), "elected")));
  EXPECT_FALSE(*run(second->try_lock(soon(), "elected")));
  EXPECT_TRUE(*run(second->try_lock(soon(), "another")));
  first.reset();
  // The server notices the end of a session a moment later.
  for (int i = 0; i < 200 && !*run(second->try_lock(soon(), "elected")); ++i) {
    ASSERT_TRUE(ask({{"SELECT pg_sleep(0.01)"}, {}}));
  }
  EXPECT_FALSE(*run(listener("c")->try_lock(soon(), "elected")));
}

TEST_F(ListenerTest, tells_when_the_server_ends_the_session) {
  auto ours = listener("ends");
  ASSERT_TRUE(
      ask({{"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE $1 AND pid <> "
            "pg_backend_pid()"},
           {param("LISTEN \"ends\"%")}}));
  auto heard = run(ours->next(soon()));
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().kind(), ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace base::pg

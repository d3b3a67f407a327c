#include "toolserver/mcp_ingress/client_session.h"

#include <gtest/gtest.h>

#include "toolserver/mcp_ingress/changes.h"

namespace tool::mcp_ingress {
namespace {

class SteppedClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override { return time; }
  base::WallTime time{std::chrono::hours(1)};
};

class ClientSessionsTest : public ::testing::Test {
 protected:
  std::string open(const std::string& principal) {
    auto session = sessions_.open({{}, principal, mcp::kNewestWithSessions, {}});
    EXPECT_TRUE(session);
    return (*session)->facts().id;
  }

  SteppedClock clock_;
  base::SystemRandom random_;
  ClientSessions sessions_{
      clock_, random_, {.all = 4, .of_principal = 2, .idle = std::chrono::minutes(10)}};
};

TEST_F(ClientSessionsTest, are_found_by_their_own_principal_alone) {
  std::string id = open("alice");
  EXPECT_GE(id.size(), 32U);
  ASSERT_TRUE(sessions_.find(id, "alice"));
  EXPECT_FALSE(sessions_.find(id, "mallory"));
  EXPECT_FALSE(sessions_.close(id, "mallory"));
  EXPECT_TRUE(sessions_.close(id, "alice"));
  EXPECT_FALSE(sessions_.find(id, "alice"));
}

TEST_F(ClientSessionsTest, end_when_they_are_idle_for_too_long) {
  std::string id = open("alice");
  clock_.time += std::chrono::minutes(9);
  EXPECT_TRUE(sessions_.find(id, "alice"));
  clock_.time += std::chrono::minutes(9);
  EXPECT_TRUE(sessions_.find(id, "alice")) << "a use begins the time anew";
  clock_.time += std::chrono::minutes(10);
  EXPECT_FALSE(sessions_.find(id, "alice"));
}

TEST_F(ClientSessionsTest, of_one_principal_push_out_none_of_another) {
  std::string first = open("alice");
  clock_.time += std::chrono::seconds(1);
  std::string bobs = open("bob");
  std::string second = open("alice");
  std::string third = open("alice");
  EXPECT_FALSE(sessions_.find(first, "alice"));
  EXPECT_TRUE(sessions_.find(second, "alice"));
  EXPECT_TRUE(sessions_.find(third, "alice"));
  EXPECT_TRUE(sessions_.find(bobs, "bob"));
}

TEST_F(ClientSessionsTest, are_bounded_in_all) {
  for (const char* one : {"a", "b", "c", "d"}) open(one);
  auto more = sessions_.open({{}, "e", mcp::kNewestWithSessions, {}});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::kBusy);
  clock_.time += std::chrono::minutes(10);
  EXPECT_TRUE(sessions_.open({{}, "e", mcp::kNewestWithSessions, {}}));
}

TEST(ClientSessionTest, hands_an_answer_to_who_asked_once) {
  ClientSession session({});
  int answers = 0;
  auto id = session.expect([&](auto) { ++answers; });
  ASSERT_TRUE(id);
  EXPECT_FALSE(session.answer(mcp::RequestId("other"), base::json::Object()));
  EXPECT_TRUE(session.answer(*id, base::json::Object()));
  EXPECT_FALSE(session.answer(*id, base::json::Object()));
  EXPECT_EQ(answers, 1);
  auto forgotten = session.expect([&](auto) { ++answers; });
  session.forget(*forgotten);
  EXPECT_FALSE(session.answer(*forgotten, base::json::Object()));
  EXPECT_EQ(answers, 1);
}

TEST(ClientSessionTest, bounds_questions_and_subscriptions) {
  ClientSession session({});
  for (std::size_t i = 0; i < ClientSession::kMostQuestions; ++i) {
    ASSERT_TRUE(session.expect([](auto) {}));
  }
  EXPECT_EQ(session.expect([](auto) {}).error().code, Code::kBusy);
  for (std::size_t i = 0; i < ClientSession::kMostSubscriptions; ++i) {
    ASSERT_TRUE(session.subscribe("test://" + std::to_string(i)));
  }
  EXPECT_EQ(session.subscribe("test://more").error().code, Code::kLimit);
  EXPECT_TRUE(session.subscribe("test://0"));
  EXPECT_TRUE(session.is_subscribed("test://0"));
  session.unsubscribe("test://0");
  EXPECT_FALSE(session.is_subscribed("test://0"));
}

TEST(ClientSessionTest, cancels_what_runs_by_its_id) {
  ClientSession session({});
  int cancelled = 0;
  session.begin(mcp::RequestId("a"), [&] { ++cancelled; });
  session.cancel(mcp::RequestId("b"));
  EXPECT_EQ(cancelled, 0);
  session.cancel(mcp::RequestId("a"));
  EXPECT_EQ(cancelled, 1);
  session.end(mcp::RequestId("a"));
  session.cancel(mcp::RequestId("a"));
  EXPECT_EQ(cancelled, 1);
}

TEST(ChangesTest, are_told_to_those_who_listen) {
  Changes changes;
  std::vector<std::string> heard;
  {
    Changes::Listener listener(changes, [&](const Change& change) { heard.push_back(change.uri); });
    changes.tell({Change::Kind::kResource, "a"});
  }
  changes.tell({Change::Kind::kResource, "b"});
  EXPECT_EQ(heard, std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace tool::mcp_ingress

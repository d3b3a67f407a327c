#include "toolserver/pipeline/consent_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "toolserver/pipeline/consent.h"
#include "toolserver/pipeline/within.h"

namespace tool::pipeline {
namespace {

using std::chrono::steady_clock;
using ::testing::ElementsAre;

class ConsentDeskTest : public ::testing::Test {
 protected:
  // Asks as the consent stage does; the outcome comes into its place of `ended`.
  void ask(std::string principal, steady_clock::time_point deadline) {
    ConsentQuestion question;
    question.principal = std::move(principal);
    question.tool = "files.write";
    std::size_t at = ended.size();
    ended.emplace_back();
    boost::asio::co_spawn(loop, stage(deadline, std::move(question)),
                          [this, at](std::exception_ptr error, Outcome<ConsentAnswer> answer) {
                            EXPECT_FALSE(error);
                            ended[at] =
                                answer ? answer->by : std::string(name(answer.error().code));
                          });
    loop.poll();
  }
  base::Task<Outcome<ConsentAnswer>> stage(steady_clock::time_point deadline,
                                           ConsentQuestion question) {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    co_return co_await within(deadline, desk.ask({}, std::move(question)));
  }
  std::vector<std::string> waiting() {
    std::vector<std::string> out;
    for (const auto& one : desk.open()) out.push_back(one.question.principal);
    return out;
  }
  static ConsentAnswer yes(std::string by) {
    return {ConsentDecision::kApprove, std::move(by), ConsentScope::kOnce};
  }

  boost::asio::io_context loop{1};
  std::vector<std::string> ended;
  ConsentDesk desk;
  const steady_clock::time_point later = steady_clock::now() + std::chrono::hours(1);
};

TEST_F(ConsentDeskTest, a_question_waits_until_somebody_decides_and_no_longer) {
  ask("alice", later);
  ask("bob", later);
  EXPECT_THAT(waiting(), ElementsAre("alice", "bob"));
  std::uint64_t first = desk.open()[0].id;
  // From the thread of another loop.
  std::thread([&] { EXPECT_TRUE(desk.decide(first, yes("carol"))); }).join();
  EXPECT_FALSE(desk.decide(first, yes("dave"))) << "one decision is enough";
  EXPECT_THAT(waiting(), ElementsAre("bob"));
  while (ended[0].empty()) loop.run_one();
  EXPECT_THAT(ended, ElementsAre("carol", ""));
  EXPECT_FALSE(desk.decide(first, yes("dave")));
  EXPECT_FALSE(desk.decide(first + 100, yes("dave")));
  EXPECT_TRUE(desk.decide(desk.open()[0].id, yes("carol")));
  loop.run();
  EXPECT_THAT(ended, ElementsAre("carol", "carol"));
}

TEST_F(ConsentDeskTest, what_nobody_decides_in_time_leaves_the_desk) {
  ask("alice", steady_clock::now());
  loop.run();
  EXPECT_THAT(ended, ElementsAre("E_TIMEOUT"));
  EXPECT_THAT(waiting(), ElementsAre());
}

TEST_F(ConsentDeskTest, one_principal_leaves_room_for_others) {
  for (std::size_t i = 0; i <= ConsentDesk::kOfPrincipal; ++i) ask("alice", later);
  EXPECT_EQ(desk.open().size(), ConsentDesk::kOfPrincipal);
  EXPECT_EQ(ended.back(), "E_BUSY");
  for (std::size_t i = 0; desk.open().size() < ConsentDesk::kMost; ++i) {
    ask("caller-" + std::to_string(i), later);
  }
  ask("late", later);
  EXPECT_EQ(ended.back(), "E_BUSY");
  for (const auto& one : desk.open()) EXPECT_TRUE(desk.decide(one.id, yes("carol")));
  loop.run();
  EXPECT_THAT(waiting(), ElementsAre());
}

TEST(ConsentMemoryTest, an_approval_holds_in_its_time_and_until_it_is_taken_back) {
  const base::WallTime now(std::chrono::hours(1));
  ConsentMemory memory;
  auto put = [&](const std::string& key, std::string subject, std::chrono::seconds time) {
    ConsentMemory::Approval approval;
    approval.subject = std::move(subject);
    approval.until = now + time;
    memory.put(key, std::move(approval), 2, now);
  };
  put("a", "alice", std::chrono::seconds(10));
  put("b", "bob", std::chrono::seconds(20));
  put("c", "carol", std::chrono::seconds(30));
  EXPECT_FALSE(memory.holds("c", now)) << "there is no room for it";
  ASSERT_EQ(memory.list(now).size(), 2U);
  EXPECT_EQ(memory.list(now)[0].subject, "alice");
  EXPECT_TRUE(memory.holds("a", now));
  EXPECT_FALSE(memory.holds("a", now + std::chrono::seconds(10)));
  EXPECT_EQ(memory.list(now + std::chrono::seconds(10)).size(), 1U);
  EXPECT_EQ(memory.revoke([](const auto& one) { return one.subject == "bob"; }), 1U);
  EXPECT_EQ(memory.revoke([](const auto& one) { return one.subject == "bob"; }), 0U);
  EXPECT_FALSE(memory.holds("b", now));
  put("c", "carol", std::chrono::seconds(30));
  EXPECT_TRUE(memory.holds("c", now));
}

}  // namespace
}  // namespace tool::pipeline

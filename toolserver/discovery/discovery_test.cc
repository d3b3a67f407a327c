#include "toolserver/discovery/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/http/dial.h"

namespace tool::discovery {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

Nodes nodes(std::initializer_list<const char*> names) {
  Nodes out;
  for (const char* one : names) out[one].push_back({"wss://b.example", ""});
  return out;
}

// Gives its answers one after the other, then waits until it is ended.
class Script final : public Source {
 public:
  explicit Script(std::deque<base::Result<Found>> answers) : answers_(std::move(answers)) {}
  base::Task<base::Result<Found>> next(base::RequestContext, milliseconds) override {
    if (!answers_.empty()) {
      auto answer = answers_.front();
      if (answers_.size() > 1 || answer) answers_.pop_front();  // A failure stays.
      co_return answer;
    }
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_at(std::chrono::steady_clock::time_point::max());
    boost::system::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    co_return base::http::cancelled();
  }

 private:
  std::deque<base::Result<Found>> answers_;
};

class Herald final : public Announcer {
 public:
  base::Task<base::Status> renew(base::RequestContext) override {
    note("renew");
    co_return base::Status();
  }
  base::Task<base::Status> withdraw(base::RequestContext) override {
    note("withdraw");
    co_return base::Status();
  }
  void note(const char* what) {
    std::lock_guard lock(mutex);
    said.emplace_back(what);
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> said;
};

class DiscoveryTest : public ::testing::Test {
 protected:
  std::unique_ptr<Discovery> start(std::deque<base::Result<Found>> answers,
                                   milliseconds keep = std::chrono::hours(1),
                                   std::shared_ptr<Announcer> announcer = nullptr) {
    return std::make_unique<Discovery>(
        Options{.method = "test", .interval = milliseconds(1'000), .keep = keep},
        std::make_shared<Script>(std::move(answers)), std::move(announcer),
        Parts{random_, base::log::Logger(output_), metrics_}, [this](const Nodes& seen) {
          std::lock_guard lock(mutex_);
          seen_.push_back(seen);
          changed_.notify_all();
        });
  }
  std::vector<Nodes> await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return seen_.size() >= count; });
    return seen_;
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
  base::log::LogOutput output_{{.level = base::log::Level::kError}, clock_};
  base::metrics::Registry metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Nodes> seen_;
};

Found found(Nodes nodes) {
  Found out;
  out.nodes = std::move(nodes);
  return out;
}

TEST_F(DiscoveryTest, hands_on_what_differs_from_before) {
  auto discovery = start(
      {found(nodes({"a"})), found(nodes({"a"})), found(nodes({"a", "b"})), found(nodes({"b"}))});
  EXPECT_THAT(await(3), ::testing::ElementsAre(nodes({"a"}), nodes({"a", "b"}), nodes({"b"})));
  EXPECT_THAT(metrics_.text(), HasSubstr("securetool_discovery_up 1"));
}

TEST_F(DiscoveryTest, keeps_the_last_answer_over_a_failure) {
  auto discovery =
      start({found(nodes({"a"})), base::http::unavailable("gone"), found(nodes({"a", "b"}))});
  EXPECT_THAT(await(2), ::testing::ElementsAre(nodes({"a"}), nodes({"a", "b"})));
  EXPECT_THAT(metrics_.text(), HasSubstr("securetool_discovery_failures_total 1"));
}

TEST_F(DiscoveryTest, gives_the_last_answer_up_when_it_is_too_old) {
  auto discovery = start({found(nodes({"a"})), base::http::unavailable("gone")}, milliseconds(300));
  EXPECT_THAT(await(2), ::testing::ElementsAre(nodes({"a"}), nodes({})));
  EXPECT_THAT(metrics_.text(), HasSubstr("securetool_discovery_up 0"));
  EXPECT_THAT(metrics_.text(), HasSubstr("securetool_discovery_nodes 0"));
}

TEST_F(DiscoveryTest, an_empty_answer_is_an_answer) {
  auto discovery = start({found(nodes({"a"})), found({})});
  EXPECT_THAT(await(2), ::testing::ElementsAre(nodes({"a"}), nodes({})));
}

Found partial(Nodes nodes) {
  Found out = found(std::move(nodes));
  out.partial = "the token may not read everything";
  return out;
}

TEST_F(DiscoveryTest, a_partial_answer_adds_nodes_and_takes_none) {
  auto discovery = start({found(nodes({"a"})), partial(nodes({"b"}))});
  EXPECT_THAT(await(2), ::testing::ElementsAre(nodes({"a"}), nodes({"a", "b"})));
  EXPECT_THAT(metrics_.text(), HasSubstr("securetool_discovery_partial 1"));
  EXPECT_THAT(metrics_.text(), HasSubstr("securetool_discovery_up 1"));
}

TEST_F(DiscoveryTest, a_whole_answer_after_a_partial_one_takes_what_it_does_not_name) {
  auto discovery =
      start({found(nodes({"a"})), partial(nodes({"b"})), partial({}), found(nodes({"b"}))});
  EXPECT_THAT(await(3), ::testing::ElementsAre(nodes({"a"}), nodes({"a", "b"}), nodes({"b"})));
  EXPECT_THAT(metrics_.text(), HasSubstr("securetool_discovery_partial 0"));
}

TEST_F(DiscoveryTest, a_node_that_partial_answers_do_not_name_is_given_up_when_its_time_is_over) {
  std::deque<base::Result<Found>> answers{found(nodes({"a", "b"}))};
  // One each kShortestPause.
  for (int i = 0; i < 50; ++i) answers.emplace_back(partial(nodes({"b"})));
  auto discovery = start(std::move(answers), milliseconds(500));
  EXPECT_THAT(await(2), ::testing::ElementsAre(nodes({"a", "b"}), nodes({"b"})));
}

TEST_F(DiscoveryTest, ends_while_it_waits_and_takes_back_what_it_announced) {
  auto herald = std::make_shared<Herald>();
  auto discovery = start({}, std::chrono::hours(1), herald);
  {
    std::unique_lock lock(herald->mutex);
    herald->changed.wait(lock, [&] { return !herald->said.empty(); });
  }
  discovery.reset();
  EXPECT_THAT(herald->said, ::testing::ElementsAre("renew", "withdraw"));
}

}  // namespace
}  // namespace tool::discovery

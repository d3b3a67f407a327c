// A run whose process is killed at each of its recorded points, just before the
// line is written and just after, and that another process goes on with: no
// finished step runs twice, and no call is made again that may have been made.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>

#include "toolserver/workflow/fixture_test.h"

namespace tool::workflow {
namespace {

namespace json = base::json;
using testing::flow;

// One after another: where the process dies between two lines no call is under way.
constexpr std::string_view kInOrder = R"(
  {"name":"one","tool":"t.a","args":{"is":"one"},"undo":{"tool":"t.undo","args":{"is":"undo-one"}}},
  {"name":"two","tool":"t.b","args":{"is":"two","x":{"$from":"/steps/one/structured/is"}},"undo":{"tool":"t.undo","args":{"is":"undo-two"}}},
  {"name":"side","tool":"t.b","args":{"is":"side"},"after":["two"]},
  {"name":"last","tool":"t.c","args":{"is":"last"},"after":["two","side"]})";
constexpr std::string_view kAtOnce = R"(
  {"name":"a","tool":"t.a","args":{"is":"a"}},{"name":"b","tool":"t.b","args":{"is":"b"}},
  {"name":"c","tool":"t.c","args":{"is":"c"}},{"name":"d","tool":"t.a","args":{"is":"d"},"after":["a","b"]})";

// One process: a service with its files in `folder`, that dies at `point`. The
// tools note each of their runs in a file.
class Service : public testing::FlowTest {
 public:
  Service(const std::string& folder, int point, bool last_fails) : runs_(folder + "/runs") {
    int at = 0;
    store_.reset();
    store_ = std::move(*RunStore::open({.folder = folder + "/flows",
                                        .watch =
                                            [at, point](bool) mutable {
                                              if (at++ == point) ::kill(::getpid(), SIGKILL);
                                            }},
                                       clock_));
    outcomes_.reset();
    outcomes_ = std::move(*outcomes::OutcomeStore::open(
        {.folder = folder + "/outcomes", .sweep = std::chrono::hours(1)}, clock_, {}, {}));
    parts_->outcomes = outcomes_.get();
    for (const char* tool : {"a", "b", "c", "undo"}) {
      does_[tool] = [this, last_fails](json::Object args) {
        std::string name(args.at("is").as_string());
        std::ofstream(runs_, std::ios::app) << name << "\n";
        return name == "last" && last_fails ? fails({}) : answer(std::move(args));
      };
    }
  }
  std::string go(std::string_view steps) { return states(ask(request(flow(steps)))); }
  std::string take_back() { return states(cancel(caller())); }
  void TestBody() override {}

 private:
  const std::string runs_;
};

struct Ended {
  bool was_killed = false;
  std::string states;
};

// What is to be done with the run, by which service.
struct Asked {
  std::string_view steps = kInOrder;
  int point = -1;
  bool last_fails = false;
  bool takes_back = false;
};

// In a process of its own, since it may kill itself.
Ended in_a_process(const std::string& folder, Asked asked) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    // What it leaves behind goes with the folder.
    ::setenv("TMPDIR", folder.c_str(), 1);
    Service service(folder, asked.point, asked.last_fails);
    std::string told = asked.takes_back ? service.take_back() : service.go(asked.steps);
    std::ignore = ::write(ends[1], told.data(), told.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  Ended out;
  char text[1024];
  for (ssize_t got; (got = ::read(ends[0], text, sizeof text)) > 0;) {
    out.states.append(text, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  out.was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  EXPECT_TRUE(out.was_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
  return out;
}

std::map<std::string, int> runs_of(const std::string& folder) {
  std::ifstream in(folder + "/runs");
  std::map<std::string, int> out;
  for (std::string line; std::getline(in, line);) ++out[line];
  return out;
}

class CrashTest : public ::testing::TestWithParam<bool> {};

TEST_P(CrashTest, a_run_killed_at_each_of_its_points_is_resumed_and_no_step_runs_twice) {
  const bool last_fails = GetParam();
  const std::string all =
      last_fails ? "failed, one done undo done, two done undo done, side done, last failed"
                 : "done, one done, two done, side done, last done";
  int points = 0;
  for (;; ++points) {
    base::testing::TemporaryFolder folder;
    auto first = in_a_process(folder.path(), {.point = points, .last_fails = last_fails});
    if (!first.was_killed) {
      EXPECT_EQ(first.states, all);
      break;
    }
    auto second = in_a_process(folder.path(), {.last_fails = last_fails});
    for (const auto& [step, runs] : runs_of(folder.path())) {
      EXPECT_EQ(runs, 1) << step << " at point " << points << ": " << second.states;
    }
    EXPECT_EQ(second.states, all) << "at point " << points;
    EXPECT_EQ(runs_of(folder.path()).size(), last_fails ? 6U : 4U) << "at point " << points;
  }
  // The first line, two for each call, the turn and the last, before and after.
  EXPECT_EQ(points, 2 * (last_fails ? 1 + 12 + 2 : 1 + 8 + 1));
}
INSTANTIATE_TEST_SUITE_P(Runs, CrashTest, ::testing::Values(false, true));

// Others may be under way when the process dies: each of them is done once or, where
// nobody can know, not again.
TEST(CrashAtOnceTest, steps_that_run_side_by_side_are_done_once_or_unknown) {
  int points = 0;
  for (;; ++points) {
    base::testing::TemporaryFolder folder;
    if (!in_a_process(folder.path(), {.steps = kAtOnce, .point = points}).was_killed) break;
    auto second = in_a_process(folder.path(), {.steps = kAtOnce});
    auto runs = runs_of(folder.path());
    for (const auto& [step, count] : runs) EXPECT_EQ(count, 1) << step << " at point " << points;
    bool is_done = second.states == "done, a done, b done, c done, d done";
    EXPECT_TRUE(is_done || second.states.starts_with("unknown")) << second.states;
    for (const char* step : {"a", "b", "c", "d"}) {
      if (!second.states.contains(std::string(step) + " done")) continue;
      EXPECT_EQ(runs[step], 1) << step << " at point " << points << ": " << second.states;
    }
  }
  EXPECT_EQ(points, 2 * (1 + 8 + 1));
}

TEST(UnknownTest, a_call_that_the_service_did_not_survive_is_not_made_again) {
  base::testing::TemporaryFolder folder;
  pid_t child = ::fork();
  if (child == 0) {
    struct Dying : Service {
      using Service::Service;
      void die_in(const char* tool) {
        does_[tool] = [](json::Object) -> base::Task<Outcome<ToolResult>> {
          ::kill(::getpid(), SIGKILL);
          co_return ToolResult{};
        };
      }
    };
    ::setenv("TMPDIR", folder.path().c_str(), 1);
    Dying service(folder.path(), -1, false);
    service.die_in("c");
    service.go(kInOrder);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::string unknown = "unknown, one done, two done, side done, last unknown";
  EXPECT_EQ(in_a_process(folder.path(), {}).states, unknown);
  EXPECT_EQ(in_a_process(folder.path(), {}).states, unknown) << "and it stays so";
  EXPECT_EQ(runs_of(folder.path()).count("last"), 0U);
  // Somebody has looked, and takes the others back.
  EXPECT_EQ(in_a_process(folder.path(), {.takes_back = true}).states,
            "cancelled, one done undo done, two done undo done, side done, last unknown");
}

}  // namespace
}  // namespace tool::workflow

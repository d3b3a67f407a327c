#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

using testing::call_of;
using testing::capability;
using testing::object;
using testing::PipelineTest;

class PipelineAuditTest : public PipelineTest {};

TEST_F(PipelineAuditTest, raw_arguments_are_recorded_only_when_asked_for) {
  add({capability("t.a")});
  options_.trail.arguments = RawArguments::kRecorded;
  EXPECT_EQ(code_of(call_of("t.a", R"({"n":7})")), "ok");
  EXPECT_EQ(records("open").at(0).at("args"), object(R"({"n":7})"));
}

TEST_F(PipelineAuditTest, words_of_a_caller_cannot_forge_a_record) {
  auto call = call_of("t.a\n{\"kind\":\"seal\"}");
  call.session_id = "s\",\"hash\":\"0";
  call.request_id = "\r\n";
  call.traceparent = std::string("\0\xff", 2);
  EXPECT_EQ(code_of(call), "E_SHAPE");
  EXPECT_EQ(records("seal").size(), 1u);
  EXPECT_TRUE(audit::verify(trail_folder(), {})->is_intact());
}

TEST_F(PipelineAuditTest, many_loops_share_one_pipeline) {
  auto connector = add({capability("t.a")});
  options_.rate.burst = 10'000;
  Pipeline& shared = pipeline();
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        auto reply = testing::run(shared.run(call_of("t.a"), Progress()));
        if (reply) ++answered;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(answered, 400);
  EXPECT_EQ(connector->invoked, 400);
  auto report = audit::verify(trail_folder(), {});
  EXPECT_TRUE(report->is_intact());
  EXPECT_EQ(report->calls, 400u);
}

// A process of its own, since the limit on file sizes is the process's.
class FullDiskTest : public PipelineTest {
 protected:
  struct Codes {
    std::string_view full;
    std::string_view after;
    int invoked = 0;
  };
  // Exit code 0 when a full disk and an emptied one answer as `expected`.
  int run_child(AuditFailure on_failure, const Codes& expected) {
    audit_.reset();
    pid_t pid = ::fork();
    if (pid == 0) ::_exit(child(on_failure, expected));
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }

 private:
  int child(AuditFailure on_failure, const Codes& expected) {
    ::signal(SIGXFSZ, SIG_IGN);
    base::log::LogOutput output({.level = base::log::Level::kError}, clock_);
    PipelineParts own{.registry = registry_,
                      .audit = open_audit(),
                      .clock = clock_,
                      .metrics = metrics_,
                      .log = base::log::Logger(output),
                      .guard = nullptr,
                      .consent = nullptr,
                      .filters = {}};
    options_.trail.on_failure = on_failure;
    Pipeline mine(options_, own);
    auto connector = add({capability("t.a")});
    auto code = [&] {
      auto reply = testing::run(mine.run(call_of("t.a"), Progress()));
      return reply ? "ok" : tool::name(reply.error().code);
    };
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    rlimit tight = limit;
    tight.rlim_cur = 10;
    ::setrlimit(RLIMIT_FSIZE, &tight);
    if (code() != expected.full) return 10;
    if (connector->invoked != expected.invoked) return 11;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (code() != expected.after) return 12;
    bool is_counted = metrics_.text().find("securetool_audit_lost_total 0\n") == std::string::npos;
    audit_.reset();
    return is_counted ? 0 : 13;
  }
};

TEST_F(FullDiskTest, what_cannot_be_recorded_does_not_happen) {
  EXPECT_EQ(run_child(AuditFailure::kBlock, {"E_BUSY", "ok", 0}), 0);
}

TEST_F(FullDiskTest, or_happens_and_is_counted) {
  EXPECT_EQ(run_child(AuditFailure::kContinue, {"ok", "ok", 1}), 0);
}

}  // namespace
}  // namespace tool::pipeline

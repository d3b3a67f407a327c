#include "toolserver/audit/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include "toolserver/audit/fixture_test.h"

namespace {
std::atomic<int> sync_delay_ms = 0;
}

// In place of the C library's: a disk that takes its time.
extern "C" int fdatasync(int fd) {
  std::this_thread::sleep_for(std::chrono::milliseconds(sync_delay_ms));
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace tool::audit {
namespace {

using testing::AuditTest;
using testing::run;
using testing::sample;
using testing::slurp;
using testing::spill;

class AuditLogTest : public AuditTest {
 protected:
  // Runs `child` in a process of its own, which must end by itself or be killed.
  template <class Child>
  static pid_t fork_child(Child child) {
    pid_t pid = ::fork();
    if (pid == 0) {
      child();
      ::_exit(0);
    }
    return pid;
  }
  static int exit_code(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void no_acknowledged_record_is_lost(Durability durability);
};

TEST_F(AuditLogTest, the_chain_goes_on_over_restarts) {
  AuditReceipt first;
  {
    auto log = open();
    first = call(*log);
    EXPECT_EQ(first.hash, log->head().hash);
  }
  auto log = open();
  EXPECT_FALSE(log->torn().has_value());
  auto second = call(*log);
  EXPECT_GT(second.seq, first.seq);
  auto result = report({.expected = {first, second}});
  EXPECT_TRUE(result.is_intact());
  EXPECT_EQ(result.starts, 2u);
}

TEST_F(AuditLogTest, files_are_for_their_owner_alone) {
  auto log = open();
  auto mode = [](const std::string& path) { return std::filesystem::status(path).permissions(); };
  using std::filesystem::perms;
  EXPECT_EQ(mode(folder()), perms::owner_all);
  EXPECT_EQ(mode(only_file()), perms::owner_read | perms::owner_write);
}

TEST_F(AuditLogTest, one_folder_has_one_writer) {
  auto log = open();
  auto second = try_open(options());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind(), base::ErrorKind::kConflict);
  log.reset();
  EXPECT_TRUE(try_open(options()).has_value());
}

TEST_F(AuditLogTest, a_folder_that_cannot_be_made_is_an_error) {
  spill(folder_.path() + "/file", "");
  auto settings = options();
  settings.folder = folder_.path() + "/file/trail";
  auto log = try_open(settings);
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().kind(), base::ErrorKind::kUnavailable);
}

TEST_F(AuditLogTest, rotation_carries_the_chain_over) {
  auto settings = options();
  settings.segment_bytes = 3'000;
  std::vector<AuditReceipt> receipts;
  for (int boot = 0; boot < 2; ++boot) {
    auto log = open(settings);
    for (int i = 0; i < 20; ++i) receipts.push_back(call(*log));
  }
  auto result = report({.expected = receipts});
  EXPECT_TRUE(result.is_intact());
  EXPECT_GT(result.files, 5u);
  for (const auto& segment : *list_segments(folder())) {
    EXPECT_LT(std::filesystem::file_size(segment.path), 5'000u);
  }
}

TEST_F(AuditLogTest, a_checkpoint_comes_with_every_so_many_records) {
  auto settings = options();
  settings.checkpoint_records = 10;
  auto log = open(settings);
  for (std::uint64_t round = 1; round <= 2; ++round) {
    for (int i = 0; i < 10; ++i) seal(*log);
    for (int i = 0; i < 500 && report().checkpoints < round; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    auto result = report();
    EXPECT_TRUE(result.is_intact());
    EXPECT_GE(result.checkpoints, round);
  }
}

// The most lines after a signed one, checkpoints apart, at any moment of a trail.
std::uint64_t longest_unsigned(const std::string& text) {
  std::uint64_t covered = 0;
  std::uint64_t checkpoints = 0;  // After the covered line.
  std::uint64_t longest = 0;
  for (const auto& line : testing::lines_of(text)) {
    auto record = base::json::parse(line)->as_object();
    auto seq = static_cast<std::uint64_t>(record["seq"].as_int64());
    if (record["kind"] == "checkpoint") {
      covered = static_cast<std::uint64_t>(record["covers"].as_object()["seq"].as_int64());
      checkpoints = 1;
    }
    longest = std::max(longest, seq - covered - checkpoints);
  }
  return longest;
}

TEST_F(AuditLogTest, a_slow_disk_does_not_put_off_signatures) {
  sync_delay_ms = 150;
  auto settings = options();
  settings.checkpoint_records = 100;
  {
    auto log = open(settings);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&log] {
        for (int i = 0; i < 1'000; ++i) seal(*log);
      });
    }
    for (auto& thread : threads) thread.join();
  }
  sync_delay_ms = 0;
  EXPECT_LE(longest_unsigned(slurp(only_file())), settings.checkpoint_records);
  auto result = report({.checkpoint_records = settings.checkpoint_records});
  EXPECT_TRUE(result.is_intact());
  EXPECT_EQ(result.refused + result.calls, 4'000u);
}

TEST_F(AuditLogTest, the_least_number_of_unsigned_lines_is_kept_too) {
  auto settings = options();
  settings.checkpoint_records = 1;
  {
    auto log = open(settings);
    for (int i = 0; i < 50; ++i) seal(*log);
  }
  EXPECT_EQ(longest_unsigned(slurp(only_file())), 1u);
}

TEST_F(AuditLogTest, a_checkpoint_comes_after_a_time) {
  auto settings = options();
  settings.checkpoint_interval = std::chrono::milliseconds(20);
  auto log = open(settings);
  auto receipt = call(*log);
  for (int i = 0; i < 500 && report().checkpoints < 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  auto result = report();
  EXPECT_GE(result.checkpoints, 1u);
  EXPECT_GT(log->head().seq, receipt.seq);
}

TEST_F(AuditLogTest, an_idle_log_does_not_grow) {
  auto settings = options();
  settings.checkpoint_interval = std::chrono::milliseconds(1);
  auto log = open(settings);
  for (int i = 0; i < 500 && log->head().seq < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(log->head().seq, 2u);  // The start and its checkpoint.
}

TEST_F(AuditLogTest, events_are_links_of_the_chain) {
  {
    auto log = open();
    auto receipt = log->event("tool_approved", {{"tool", "w.forecast"}, {"count", 1}});
    ASSERT_TRUE(receipt.has_value());
    EXPECT_EQ(*receipt, log->head());
    auto refused = log->event("odd", {{"n", std::int64_t{1} << 60}});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind(), base::ErrorKind::kInvalid);
  }
  EXPECT_TRUE(report().is_intact());
}

constexpr int kSingles = static_cast<int>(Summaries::kSingles);

std::vector<base::json::Object> events_of(const std::string& text) {
  std::vector<base::json::Object> events;
  for (const auto& line : testing::lines_of(text)) {
    auto record = base::json::parse(line)->as_object();
    if (record["kind"] == "event") events.push_back(record);
  }
  return events;
}

TEST_F(AuditLogTest, a_flood_of_refusals_is_a_few_lines_and_a_sum) {
  {
    auto log = open();
    for (int i = 0; i < 5'000; ++i) log->refuse(refused("mallory"));
    for (int i = 0; i < 100; ++i) log->refuse(refused("mallory", Code::kTool));
    log->refuse(refused("alice", Code::kScope));
    seal(*log);
  }
  auto result = report();
  EXPECT_TRUE(result.is_intact());
  EXPECT_EQ(result.refused, 5'101u);
  EXPECT_EQ(result.calls, 1u);
  EXPECT_LT(result.lines, 30u);
  auto events = events_of(slurp(only_file()));
  ASSERT_EQ(events.size(), 1u);
  const auto& details = events[0].at("details").as_object();
  EXPECT_EQ(details.at("act"), "call_refused");
  EXPECT_EQ(details.at("principal").at("sub"), "mallory");
  EXPECT_EQ(details.at("codes").at("E_RATE"), 5'000 - kSingles);
  EXPECT_EQ(details.at("codes").at("E_TOOL"), 100);
  EXPECT_THAT(slurp(only_file()), ::testing::HasSubstr("E_SCOPE"));  // Alice has her own line.
}

TEST_F(AuditLogTest, calls_that_were_authorised_are_never_summed) {
  {
    auto log = open();
    for (int i = 0; i < 300; ++i) seal(*log, refused("alice", Code::kPolicy));
  }
  EXPECT_EQ(report().refused, 300u);
  EXPECT_TRUE(events_of(slurp(only_file())).empty());
}

TEST_F(AuditLogTest, a_sum_is_written_while_the_flood_goes_on) {
  auto log = open();
  for (int i = 0; i < 100; ++i) log->refuse(refused("mallory"));
  EXPECT_TRUE(events_of(slurp(only_file())).empty());
  clock_.pass(Summaries::kPeriod);
  for (int i = 0; i < 500 && events_of(slurp(only_file())).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  auto events = events_of(slurp(only_file()));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("details").at("codes").at("E_RATE"), 100 - kSingles);
}

TEST_F(AuditLogTest, a_trail_at_its_limit_begins_nothing_and_ends_what_runs) {
  auto settings = options();
  settings.space.max_bytes = 200'000;
  std::atomic<int> low = 0;
  settings.space_interval = std::chrono::milliseconds(5);
  settings.on_space = [&](const Space& space) { low += space.state == SpaceState::kLow ? 1 : 0; };
  auto log = open(settings);
  std::vector<std::uint64_t> running;
  while (auto seq = log->open_call(sample())) {
    running.push_back(*seq);
    ASSERT_LT(running.size(), 1'000u);
    // The alarm comes before the end.
    bool is_due = std::filesystem::file_size(only_file()) > 170'000;
    for (int i = 0; i < 500 && low == 0 && is_due; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  EXPECT_GT(low, 0);
  for (std::size_t i = 0; i < 10; ++i) {
    auto record = sample();
    record.open_seq = running[i];
    EXPECT_TRUE(run(log->seal(record)).has_value());
  }
  EXPECT_FALSE(log->open_call(sample()).has_value());
  log->refuse(refused("mallory"));  // Nobody's trouble: it is counted.
  log.reset();
  EXPECT_EQ(report().refused, 0u);
  EXPECT_EQ(report().calls, 10u);
}

TEST_F(AuditLogTest, many_threads_write_one_chain) {
  for (Durability durability : {Durability::kWritten, Durability::kSynced}) {
    auto settings = options();
    settings.durability = durability;
    settings.segment_bytes = 20'000;
    std::vector<std::vector<AuditReceipt>> receipts(4);
    {
      auto log = open(settings);
      std::vector<std::thread> threads;
      for (auto& mine : receipts) {
        threads.emplace_back([&log, &mine] {
          for (int i = 0; i < 50; ++i) mine.push_back(call(*log));
        });
      }
      for (auto& thread : threads) thread.join();
    }
    VerifyOptions verify_options;
    for (const auto& mine : receipts) {
      verify_options.expected.insert(verify_options.expected.end(), mine.begin(), mine.end());
    }
    auto result = report(verify_options);
    EXPECT_TRUE(result.is_intact());
    EXPECT_EQ(result.unfinished, 0u);
  }
}

// The child says each receipt after it has it, and is killed at some moment.
void AuditLogTest::no_acknowledged_record_is_lost(Durability durability) {
  std::vector<AuditReceipt> acknowledged;
  for (int round = 0; round < 6; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    auto settings = options();
    settings.durability = durability;
    settings.segment_bytes = 8'000;
    settings.checkpoint_records = 20;
    pid_t pid = fork_child([&] {
      auto log = open(settings);
      while (log) {
        auto receipt = call(*log);
        std::string text = fmt::format("{:016}{}", receipt.seq, receipt.hash);
        if (::write(pipe[1], text.data(), text.size()) < 0) break;
      }
    });
    ::close(pipe[1]);
    for (int i = 0; i < 30 + 7 * round; ++i) {
      char text[80];
      std::size_t got = 0;
      while (got < sizeof text) {
        ssize_t n = ::read(pipe[0], text + got, sizeof text - got);
        ASSERT_GT(n, 0);
        got += static_cast<std::size_t>(n);
      }
      acknowledged.push_back({std::stoull(std::string(text, 16)), std::string(text + 16, 64)});
    }
    ::kill(pid, SIGKILL);
    // What was acknowledged just before the end still lies in the pipe.
    char text[80];
    while (::read(pipe[0], text, sizeof text) == sizeof text) {
      acknowledged.push_back({std::stoull(std::string(text, 16)), std::string(text + 16, 64)});
    }
    ::close(pipe[0]);
    EXPECT_EQ(exit_code(pid), 128 + SIGKILL);
    auto result = report({.checkpoint_records = 100'000, .expected = acknowledged});
    ASSERT_FALSE(result.broken.has_value()) << result.broken->rule;
    EXPECT_TRUE(result.missing.empty()) << result.missing.size();
    EXPECT_LE(result.interrupted_count, static_cast<std::uint64_t>(round));
    EXPECT_LE(result.unfinished, 1u);
  }
}

TEST_F(AuditLogTest, kill_9_loses_no_record_that_was_acknowledged_as_written) {
  no_acknowledged_record_is_lost(Durability::kWritten);
}

TEST_F(AuditLogTest, kill_9_loses_no_record_that_was_acknowledged_as_synced) {
  no_acknowledged_record_is_lost(Durability::kSynced);
}

// RLIMIT_FSIZE makes writes fail part way through a line, as a full disk does.
TEST_F(AuditLogTest, a_full_disk_refuses_and_leaves_no_half_line) {
  pid_t pid = fork_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    auto log = open();
    if (!log) ::_exit(10);
    call(*log);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    rlimit tight = limit;
    tight.rlim_cur = std::filesystem::file_size(only_file()) + 1'000;
    ::setrlimit(RLIMIT_FSIZE, &tight);
    int written = 0;
    while (run(log->seal(sample()))) ++written;
    if (written > 3) ::_exit(11);
    auto opened = log->open_call(sample());
    if (opened || opened.error().kind() != base::ErrorKind::kUnavailable) ::_exit(12);
    if (log->lost() != 2) ::_exit(13);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (!run(log->seal(sample("after")))) ::_exit(14);
  });
  EXPECT_EQ(exit_code(pid), 0);
  auto result = report();
  EXPECT_TRUE(result.is_intact());
  EXPECT_EQ(result.lost, 2u);
  EXPECT_EQ(result.torn_bytes, 0u);
  EXPECT_THAT(slurp(only_file()), ::testing::HasSubstr("\"rid\":\"after\""));
}

}  // namespace
}  // namespace tool::audit

#include "toolserver/connectors/command/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/core/text.h"
#include "base/testing/child_process.h"
#include "toolserver/connectors/command/fixture_test.h"

namespace tool::command {
namespace {

using base::ErrorKind;
using testing::run;

ChildProgram shell(std::string script) {
  return {.path = "/bin/sh", .arguments = {"-c", std::move(script)}, .folder = "/"};
}

// Until `path` holds a whole line, which is a pid.
pid_t pid_in(const std::string& path) {
  for (int i = 0; i < 2'000; ++i) {
    std::ifstream file(path);
    std::string line;
    if (std::getline(file, line) && !file.eof()) {
      return static_cast<pid_t>(base::parse_int64(line).value_or(0));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return 0;
}

// Whether the process is gone, or will be within 20 s. A zombie of somebody
// else's is gone.
bool ends(pid_t pid) {
  for (int i = 0; i < 2'000; ++i) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(file, text)) return true;
    auto state = text.find(") ");
    if (state != std::string::npos && text[state + 2] == 'Z') return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(ChildTest, tells_what_a_program_wrote_and_how_it_ended) {
  auto end = run(run_child(shell("printf out; printf err >&2; exit 3"), {}));
  ASSERT_TRUE(end.has_value()) << end.error().message();
  EXPECT_EQ(end->code, 3);
  EXPECT_EQ(end->output, "out");
  EXPECT_EQ(end->errors, "err");
  EXPECT_EQ(run(run_child(shell("kill -9 $$"), {}))->code, 137);
}

TEST(ChildTest, gives_it_the_input_and_then_the_end_of_it) {
  ChildProgram program{.path = "/bin/cat", .folder = "/"};
  program.input.assign(3 << 20, 'x');
  auto end = run(run_child(program, {.output_bytes = 4 << 20}));
  ASSERT_TRUE(end.has_value()) << end.error().message();
  EXPECT_EQ(end->output, program.input);
  // One that reads nothing of it does not stop the call.
  program.path = "/bin/true";
  EXPECT_EQ(run(run_child(program, {}))->code, 0);
}

TEST(ChildTest, hands_on_no_variable_descriptor_or_right) {
  ::setenv("CHILD_TEST_LEAK", "1", 1);
  ChildProgram env{.path = "/usr/bin/env", .environment = {"A=b c", "B="}, .folder = "/"};
  EXPECT_EQ(run(run_child(env, {}))->output, "A=b c\nB=\n");
  base::testing::TemporaryFolder folder;
  int leaked = ::open(folder.path().c_str(), O_RDONLY);  // Not close-on-exec.
  ASSERT_GE(leaked, 0);
  auto open = run(run_child(shell("ls -l /proc/self/fd; grep NoNewPrivs /proc/self/status"), {}));
  ::close(leaked);
  EXPECT_FALSE(open->output.contains(folder.path())) << open->output;
  EXPECT_TRUE(open->output.contains("NoNewPrivs:\t1")) << open->output;
  ChildProgram pwd{.path = "/bin/pwd", .arguments = {"-P"}, .folder = "/usr/bin"};
  EXPECT_EQ(run(run_child(pwd, {}))->output, "/usr/bin\n");
}

TEST(ChildTest, signals_are_as_by_default) {
  auto old = ::signal(SIGPIPE, SIG_IGN);
  auto end = run(run_child(shell("grep SigIgn /proc/self/status"), {}));
  ::signal(SIGPIPE, old);
  // One bit for each signal, the first for 1. Two are the C library's own.
  auto ignored = std::stoull(end->output.substr(end->output.find('\t') + 1), nullptr, 16);
  EXPECT_EQ(ignored >> (SIGPIPE - 1) & 1, 0U) << end->output;
}

TEST(ChildTest, a_program_that_cannot_be_started_is_an_error) {
  for (const char* path : {"/no/such/program", "/etc/passwd", "/"}) {
    auto end = run(run_child({.path = path, .folder = "/"}, {}));
    ASSERT_FALSE(end.has_value()) << path;
    EXPECT_EQ(end.error().kind(), ErrorKind::kUnavailable);
  }
  auto end = run(run_child({.path = "/bin/true", .folder = "/no/such/folder"}, {}));
  ASSERT_FALSE(end.has_value());
}

TEST(ChildTest, one_that_writes_without_end_is_ended) {
  auto end =
      run(run_child(shell("while :; do echo yyyyyyyyyyyyyyyy; done"), {.output_bytes = 100'000}));
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().kind(), ErrorKind::kTooLarge);
  // Exactly the limit is none too much; one more byte is, also at its very end.
  EXPECT_TRUE(run(run_child(shell("printf 1234"), {.output_bytes = 4})).has_value());
  EXPECT_FALSE(run(run_child(shell("printf 12345"), {.output_bytes = 4})).has_value());
  // Of stderr the end is kept.
  auto noisy =
      run(run_child(shell("head -c 300000 /dev/zero >&2; printf last >&2"), {.error_bytes = 6}));
  EXPECT_EQ(noisy->errors.size(), 6U);
  EXPECT_TRUE(noisy->errors.ends_with("last"));
}

TEST(ChildTest, the_deadline_ends_it_with_all_that_it_started) {
  base::testing::TemporaryFolder folder;
  std::string file = folder.path() + "/pid";
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  auto end =
      run(run_child(shell("sleep 1000 & echo $! > " + file + "; wait"), {.deadline = deadline}));
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().kind(), ErrorKind::kTimeout);
  pid_t inner = pid_in(file);
  ASSERT_GT(inner, 0);
  EXPECT_TRUE(ends(inner));
}

TEST(ChildTest, what_it_leaves_behind_is_ended_with_it) {
  base::testing::TemporaryFolder folder;
  std::string file = folder.path() + "/pid";
  auto end = run(run_child(shell("sleep 1000 & echo $! > " + file + "; echo done"), {}));
  ASSERT_TRUE(end.has_value()) << end.error().message();
  EXPECT_EQ(end->output, "done\n");
  EXPECT_TRUE(ends(pid_in(file)));
}

TEST(ChildTest, one_that_leaves_the_group_and_holds_the_pipes_holds_nobody_up) {
  base::testing::TemporaryFolder folder;
  std::string file = folder.path() + "/pid";
  // The shell waits until the other has left its group.
  auto end = run(run_child(shell("setsid sh -c 'echo $$ > " + file +
                                 "; exec sleep 1000' & "
                                 "while [ ! -s " +
                                 file + " ]; do sleep 0.01; done; echo done"),
                           {}));
  ASSERT_TRUE(end.has_value()) << end.error().message();
  EXPECT_EQ(end->output, "done\n");
  pid_t escaped = pid_in(file);
  ASSERT_GT(escaped, 0);
  ::kill(escaped, SIGKILL);
}

TEST(ChildTest, a_cancelled_caller_ends_it) {
  base::testing::TemporaryFolder folder;
  std::string file = folder.path() + "/pid";
  boost::asio::io_context loop(1);
  boost::asio::cancellation_signal cancel;
  std::optional<base::Result<ChildEnd>> end;
  boost::asio::co_spawn(
      loop, run_child(shell("echo $$ > " + file + "; exec sleep 1000"), {}),
      boost::asio::bind_cancellation_slot(
          cancel.slot(), [&](const std::exception_ptr& error, base::Result<ChildEnd> result) {
            EXPECT_FALSE(error);
            end.emplace(std::move(result));
          }));
  boost::asio::steady_timer poll(loop);
  std::function<void()> look = [&] {
    poll.expires_after(std::chrono::milliseconds(5));
    poll.async_wait([&](boost::system::error_code) {
      if (std::filesystem::exists(file)) {
        cancel.emit(boost::asio::cancellation_type::all);
      } else {
        look();
      }
    });
  };
  look();
  loop.run();
  ASSERT_TRUE(end.has_value());
  ASSERT_FALSE(end->has_value());
  EXPECT_EQ(end->error().kind(), ErrorKind::kCancelled);
  EXPECT_TRUE(ends(pid_in(file)));
}

TEST(ChildTest, a_loop_that_is_torn_down_ends_it) {
  base::testing::TemporaryFolder folder;
  std::string file = folder.path() + "/pid";
  {
    boost::asio::io_context loop(1);
    boost::asio::co_spawn(loop, run_child(shell("echo $$ > " + file + "; exec sleep 1000"), {}),
                          [](const std::exception_ptr&, const base::Result<ChildEnd>&) {});
    while (!std::filesystem::exists(file)) loop.run_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(ends(pid_in(file)));
}

}  // namespace
}  // namespace tool::command

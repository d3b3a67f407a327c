#include "base/testing/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace base::testing {
namespace {

using std::chrono::milliseconds;

std::string content_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

Program shell(std::string script) {
  return {.path = "/bin/sh", .arguments = {"-c", std::move(script)}};
}

TEST(ChildProcessTest, passes_arguments_environment_and_folder) {
  TemporaryFolder folder;
  Program program = shell("echo \"$GREETING $0 $1 $(pwd)\"; exit 7");
  program.arguments.insert(program.arguments.end(), {"zero", "a b"});
  program.environment = {{"GREETING", "hello"}};
  program.output = folder.path() + "/output";
  program.folder = folder.path();
  auto child = ChildProcess::start(program);
  ASSERT_TRUE(child) << child.error().message();
  auto code = child->wait(milliseconds(5000));
  ASSERT_TRUE(code);
  EXPECT_EQ(*code, 7);
  EXPECT_EQ(content_of(program.output), "hello zero a b " + folder.path() + "\n");
}

TEST(ChildProcessTest, reports_a_program_that_does_not_exist) {
  auto child = ChildProcess::start({.path = "/nowhere/program"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().kind(), ErrorKind::kUnavailable);
}

TEST(ChildProcessTest, reports_a_program_that_ends_before_it_is_ready) {
  TemporaryFolder folder;
  Program program = shell("echo broken; exit 1");
  program.output = folder.path() + "/output";
  auto child = ChildProcess::start(program);
  ASSERT_TRUE(child);
  auto ready = child->wait_until([] { return false; }, milliseconds(5000));
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(ready.error().detail(), "broken\n");
}

TEST(ChildProcessTest, gives_up_on_a_program_that_is_never_ready) {
  auto child = ChildProcess::start(shell("exec sleep 60"));
  ASSERT_TRUE(child);
  auto ready = child->wait_until([] { return false; }, milliseconds(30));
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().kind(), ErrorKind::kTimeout);
  EXPECT_TRUE(child->running());
}

TEST(ChildProcessTest, ends_the_program_and_its_children_with_its_owner) {
  TemporaryFolder folder;
  std::string ids = folder.path() + "/ids";
  pid_t parent = 0;
  {
    auto child = ChildProcess::start(shell("sleep 60 & echo $! > " + ids + "; wait"));
    ASSERT_TRUE(child);
    parent = child->pid();
    ASSERT_TRUE(
        child->wait_until([&] { return content_of(ids).ends_with('\n'); }, milliseconds(5000)));
  }
  EXPECT_NE(::kill(parent, 0), 0);
  // Nobody here can wait for the grandchild; the kernel ends it in its own time.
  std::string status = "/proc/" + std::to_string(std::stoi(content_of(ids))) + "/stat";
  auto gone = [&] {
    std::string state = content_of(status);
    return state.empty() || state.find(") Z ") != std::string::npos;
  };
  auto end = std::chrono::steady_clock::now() + milliseconds(5000);
  while (!gone() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(gone());
}

TEST(ChildProcessTest, kills_a_program_that_ignores_the_stop_signal) {
  TemporaryFolder folder;
  std::string mark = folder.path() + "/mark";
  Program program = shell("trap '' TERM; touch " + mark + "; while :; do sleep 0.01; done");
  program.stop_time = milliseconds(50);
  auto child = ChildProcess::start(program);
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->wait_until([&] { return std::filesystem::exists(mark); }, milliseconds(5000)));
  child->stop();
  EXPECT_FALSE(child->running());
}

TEST(ChildProcessTest, says_which_signal_ended_the_program) {
  auto child = ChildProcess::start(shell("exec sleep 60"));
  ASSERT_TRUE(child);
  child->signal(SIGINT);
  auto code = child->wait(milliseconds(5000));
  ASSERT_TRUE(code);
  EXPECT_EQ(*code, 128 + SIGINT);
}

TEST(FreePortTest, nobody_listens_on_it) {
  std::uint16_t port = free_port();
  EXPECT_NE(port, 0);
  EXPECT_FALSE(accepts_connections(port));
  EXPECT_FALSE(answers_ok(port, "/"));
}

TEST(TemporaryFolderTest, is_removed_with_its_content) {
  std::string path;
  {
    TemporaryFolder folder;
    path = folder.path();
    std::ofstream(path + "/file") << "x";
    EXPECT_TRUE(std::filesystem::is_directory(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RequiredEnvironmentTest, names_the_variable_that_is_missing) {
  auto value = required_environment("SURELY_NOT_SET_ANYWHERE", "the path of a program");
  ASSERT_FALSE(value);
  EXPECT_THAT(value.error().message(), ::testing::HasSubstr("SURELY_NOT_SET_ANYWHERE"));
}

}  // namespace
}  // namespace base::testing

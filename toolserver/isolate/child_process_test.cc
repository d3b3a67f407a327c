#include "toolserver/isolate/child_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/testing/child_process.h"
#include "toolserver/isolate/landlock.h"

namespace tool::isolate {
namespace {

using base::Deadline;
using base::ErrorKind;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Child = std::unique_ptr<ChildProcess>;

Deadline soon() { return steady_clock::now() + std::chrono::seconds(60); }

class ChildProcessTest : public ::testing::TestWithParam<bool> {
 protected:
  template <class T>
  T run(base::Task<T> task) {
    std::optional<T> made;
    asio_loop.restart();
    boost::asio::co_spawn(asio_loop, std::move(task), [&](std::exception_ptr error, T value) {
      EXPECT_FALSE(error);
      made.emplace(std::move(value));
    });
    while (!made) asio_loop.run_one();
    return *std::move(made);
  }

  ChildOptions shell(const std::string& script) const {
    ChildOptions options{.program = "/bin/bash", .arguments = {"-c", script}};
    options.walls.places = program_places();
    options.walls.processes = Processes::kAllowed;
    options.walls.namespaces = GetParam();
    return options;
  }

  Child start(ChildOptions options) {
    auto started = run(ChildProcess::start(std::move(options), pool));
    EXPECT_TRUE(started) << started.error().message() << started.error().detail();
    return started ? *std::move(started) : nullptr;
  }

  std::string line(ChildProcess& child) {
    auto read = run(child.read_line(soon()));
    if (!read) return "error: " + read.error().message();
    return read->value_or("(end)");
  }

  // All lines and the exit code of a script.
  std::string output(ChildOptions options) {
    Child child = start(std::move(options));
    if (!child) return "";
    std::string all;
    for (std::string one = line(*child); one != "(end)"; one = line(*child)) all += one + "\n";
    auto exit = run(child->wait(soon()));
    return all + (exit ? std::to_string(exit->code) : exit.error().message());
  }

  boost::asio::io_context asio_loop{1};
  base::BlockingPool pool{1};
};

TEST_P(ChildProcessTest, lines_go_in_and_come_out) {
  Child child = start(shell("while read -r x; do echo \"<$x>\"; done; printf 'last\\r\\nopen'"));
  ASSERT_TRUE(child);
  for (const char* text : {"one", "", "three and more"}) {
    ASSERT_TRUE(run(child->write_line(text, soon())));
    EXPECT_EQ(line(*child), "<" + std::string(text) + ">");
  }
  EXPECT_EQ(run(child->write_line("a\nb", soon())).error().kind(), ErrorKind::kInvalid);
  child->close_input();
  EXPECT_EQ(line(*child), "last");
  EXPECT_EQ(line(*child), "open");
  EXPECT_EQ(line(*child), "(end)");
  EXPECT_EQ(run(child->write_line("late", soon())).error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(run(child->wait(soon()))->code, 0);
}

TEST_P(ChildProcessTest, tells_how_it_ended_and_what_it_said_on_stderr) {
  Child child = start(shell("for i in 1 2 3 4 5 6 7 8 9; do echo error$i >&2; done; exit 7"));
  auto exit = run(child->wait(soon()));
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 7);
  EXPECT_EQ(line(*child), "(end)");
  ChildOptions few = shell("printf 0123456789 >&2; sleep 1000");
  few.errors_bytes = 4;
  Child killed = start(few);
  while (killed->errors() != "6789") asio_loop.run_one();
  killed->kill();
  auto signal = run(killed->wait(soon()));
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->code, 128 + SIGKILL);
  EXPECT_EQ(signal->signal, SIGKILL);
}

TEST_P(ChildProcessTest, a_line_has_a_longest_length) {
  ChildOptions options = shell("echo 12345678; echo 123456789; echo x");
  options.line_bytes = 8;
  Child child = start(options);
  EXPECT_EQ(line(*child), "12345678");
  for (int i = 0; i < 2; ++i) {
    auto over = run(child->read_line(soon()));
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().kind(), ErrorKind::kTooLarge);
  }
  // Without any end: no more than the limit is ever held.
  options = shell("cat /dev/zero");
  options.line_bytes = 1 << 20;
  Child endless = start(options);
  EXPECT_EQ(run(endless->read_line(soon())).error().kind(), ErrorKind::kTooLarge);
}

TEST_P(ChildProcessTest, waits_end_at_their_deadline) {
  Child child = start(shell("read -r x; echo $x; sleep 1000"));
  auto late = run(child->read_line(steady_clock::now() + milliseconds(50)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorKind::kTimeout);
  ASSERT_TRUE(run(child->write_line("still there", soon())));
  EXPECT_EQ(line(*child), "still there");
  EXPECT_EQ(run(child->wait(steady_clock::now() + milliseconds(50))).error().kind(),
            ErrorKind::kTimeout);
  // It reads no more, so the pipe fills.
  EXPECT_EQ(run(child->write(std::string(1 << 20, 'x'), steady_clock::now() + milliseconds(50)))
                .error()
                .kind(),
            ErrorKind::kTimeout);
}

TEST_P(ChildProcessTest, ends_with_all_that_it_started) {
  Child child = start(shell("sleep 1000 & sleep 1000 & echo ready; wait"));
  EXPECT_EQ(line(*child), "ready");
  child->kill();
  // The end of the output is there when nobody holds it any more.
  EXPECT_EQ(line(*child), "(end)");
  EXPECT_NE(run(child->wait(soon()))->code, 0);
}

TEST_P(ChildProcessTest, reads_what_it_was_given_alone) {
  base::testing::TemporaryFolder folder;
  for (const char* name : {"given", "work", "other"}) {
    std::filesystem::create_directory(folder.path() + "/" + name);
    std::ofstream(folder.path() + "/" + name + "/file") << name;
  }
  ChildOptions options = shell(
      "cat given/file; echo; cat other/file; echo more > given/file; "
      "echo -n more > work/file; cat work/file; ls .");
  options.folder = folder.path();
  options.walls.file_bytes = 1 << 20;
  options.walls.places.push_back({folder.path() + "/given", Access::kRead});
  options.walls.places.push_back({folder.path() + "/work", Access::kWrite});
  std::string said = output(options);
  if (landlock_version() == 0) return;  // says_what_the_kernel_lacks looks at that.
  EXPECT_EQ(said, "given\nmore\n2");
}

TEST_P(ChildProcessTest, has_the_environment_that_it_was_given) {
  ::setenv("CHILD_TEST_SECRET", "x", 1);
  ChildOptions options = shell("echo \"$GIVEN,$CHILD_TEST_SECRET\"");
  options.environment = {{"GIVEN", "a=b"}};
  EXPECT_EQ(output(options), "a=b,\n0");
  ::unsetenv("CHILD_TEST_SECRET");
}

TEST_P(ChildProcessTest, reaches_the_network_only_where_it_may) {
  boost::asio::ip::tcp::acceptor listener(asio_loop,
                                          {boost::asio::ip::make_address("127.0.0.1"), 0});
  std::string script = "exec 3<>/dev/tcp/127.0.0.1/" +
                       std::to_string(listener.local_endpoint().port()) + " && echo reached";
  EXPECT_EQ(output(shell(script)), "1");
  ChildOptions allowed = shell(script);
  allowed.walls.network = Network::kAllowed;
  EXPECT_EQ(output(allowed), "reached\n0");
}

TEST_P(ChildProcessTest, starts_processes_only_where_it_may) {
  EXPECT_EQ(output(shell("/bin/echo one; echo two")), "one\ntwo\n0");
  ChildOptions alone = shell("echo two; /bin/echo one; true");
  alone.walls.processes = Processes::kNone;
  std::string said = output(alone);
  EXPECT_TRUE(said.starts_with("two\n")) << said;
  EXPECT_FALSE(said.contains("one")) << said;
}

TEST_P(ChildProcessTest, takes_no_more_memory_than_it_was_given) {
  ChildOptions options = shell("x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo ${#x}");
  options.walls.memory_bytes = 64 << 20;
  EXPECT_FALSE(output(options).contains("300000000"));
  EXPECT_EQ(output(shell("x=$(head -c 3000000 /dev/zero | tr '\\0' x); echo ${#x}")), "3000000\n0");
}

TEST_P(ChildProcessTest, bad_options_are_refused_by_name) {
  struct Case {
    const char* name;
    ErrorKind kind;
    std::function<void(ChildOptions&)> change;
  };
  for (const Case& c : {
           Case{"program", ErrorKind::kInvalid, [](auto& o) { o.program = "bash"; }},
           Case{"program", ErrorKind::kNotFound, [](auto& o) { o.program = "/bin/no-such"; }},
           Case{"program", ErrorKind::kNotFound, [](auto& o) { o.program = "/etc/passwd"; }},
           Case{"folder", ErrorKind::kInvalid, [](auto& o) { o.folder = "relative"; }},
           Case{"folder", ErrorKind::kInvalid, [](auto& o) { o.folder = "/no/such"; }},
           Case{"environment", ErrorKind::kInvalid, [](auto& o) { o.environment = {{"a=", ""}}; }},
           Case{"line_bytes", ErrorKind::kInvalid, [](auto& o) { o.line_bytes = 0; }},
       }) {
    ChildOptions options = shell("true");
    c.change(options);
    auto refused = run(ChildProcess::start(options, pool));
    ASSERT_FALSE(refused) << c.name;
    EXPECT_EQ(refused.error().kind(), c.kind) << refused.error().message();
    EXPECT_TRUE(refused.error().message().contains(c.name)) << refused.error().message();
  }
  EXPECT_EQ(output(shell("true")), "0");
}

INSTANTIATE_TEST_SUITE_P(, ChildProcessTest, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "namespaces" : "none"; });

}  // namespace
}  // namespace tool::isolate

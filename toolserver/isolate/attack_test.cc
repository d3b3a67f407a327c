// A child that was taken over tries what such a child would. Each refusal has
// beside it what the same child may do, so that a wall is not a child that can
// do nothing.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "base/testing/child_process.h"
#include "toolserver/isolate/landlock.h"
#include "toolserver/isolate/launch.h"
#include "toolserver/isolate/roles_for_test.h"
#include "toolserver/isolate/seccomp.h"

namespace tool::isolate {
namespace {

int error_of(long result) { return result < 0 ? errno : 0; }

int opens(const std::string& path, int flags) {
  int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  int error = error_of(fd);
  if (fd >= 0) ::close(fd);
  return error;
}

int makes_socket(int domain) {
  int fd = ::socket(domain, SOCK_STREAM, 0);
  int error = error_of(fd);
  if (fd >= 0) ::close(fd);
  return error;
}

int starts_process() {
  pid_t child = ::fork();
  int error = error_of(child);
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return error;
}

int starts_thread() {
  int answer = 1;
  std::thread([&] { answer = 0; }).join();
  return answer;
}

int starts_program() {
  std::array<char*, 1> none{nullptr};
  return error_of(::execve("/bin/true", none.data(), none.data()));
}

// 0 only where one of them is open: the channel is 4, and nothing is beyond.
int writes_to_others() {
  int error = EBADF;
  for (int fd = 3; fd < 256; ++fd) {
    if (fd != 4 && ::write(fd, "x", 1) != -1) error = 0;
  }
  return error;
}

int takes_memory(std::size_t bytes) {
  void* made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return errno;
  ::munmap(made, bytes);
  return 0;
}

int makes_code() {
  void* made =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return made == MAP_FAILED ? errno : 0;
}

int limits_parent(pid_t parent) {
  rlimit none{0, 0};
  return error_of(::prlimit(parent, RLIMIT_CPU, &none, nullptr));
}

// "NAME ARGUMENT" is tried; the answer is the error's number, 0 for none.
int attempt(const std::string& name, const std::string& argument) {
  auto pid = [&] { return std::atoi(argument.c_str()); };
  if (name == "read") return opens(argument, O_RDONLY);
  if (name == "write") return opens(argument, O_WRONLY);
  if (name == "make") return opens(argument, O_WRONLY | O_CREAT);
  if (name == "list") return opens(argument, O_RDONLY | O_DIRECTORY);
  if (name == "socket") return makes_socket(pid());
  if (name == "fork") return starts_process();
  if (name == "thread") return starts_thread();
  if (name == "exec") return starts_program();
  if (name == "others") return writes_to_others();
  if (name == "memory") return takes_memory(std::strtoull(argument.c_str(), nullptr, 10));
  if (name == "code") return makes_code();
  if (name == "ptrace") return error_of(::ptrace(PTRACE_ATTACH, pid(), nullptr, nullptr));
  if (name == "kill") return error_of(::kill(pid(), 0));
  if (name == "tgkill") return error_of(::syscall(SYS_tgkill, pid(), pid(), 0));
  if (name == "pidfd") return error_of(::syscall(SYS_pidfd_open, pid(), 0));
  if (name == "limit") return limits_parent(pid());
  if (name == "unshare") return error_of(::unshare(CLONE_NEWUSER));
  if (name == "mount") return error_of(::mount("none", "/tmp", "tmpfs", 0, nullptr));
  if (name == "setuid") return error_of(::setuid(1));
  if (name == "filter") return error_of(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
  if (name == "environment") {  // But for how it allocates.
    bool is_alone = environ != nullptr && *environ != nullptr && environ[1] == nullptr;
    return is_alone && std::string_view(*environ).starts_with("MALLOC_CONF=") ? 0 : EEXIST;
  }
  if (name == "stdout") return error_of(::write(STDOUT_FILENO, "x", 1));
  return ENOSYS;
}

bool lacks(const std::vector<std::string>& missing, std::string_view wall) {
  return std::ranges::find(missing, wall) != missing.end();
}

class AttackTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    given_ = folder_.path() + "/given";
    other_ = folder_.path() + "/other";
    std::filesystem::create_directories(given_);
    std::filesystem::create_directories(other_);
    std::ofstream(given_ + "/file") << "given";
    std::ofstream(other_ + "/file") << "kept";
    std::filesystem::create_symlink(other_ + "/file", given_ + "/link");
    Walls walls;
    walls.memory_bytes = 4ULL << 30;
    walls.places = {{given_, Access::kRead}};
    walls.namespaces = GetParam();
    auto started = launch(RoleLaunch{"attack", walls});
    ASSERT_TRUE(started) << started.error().message() << started.error().detail();
    child_ = *std::move(started);
  }
  void TearDown() override {
    if (child_.pid < 0) return;
    kill_child(child_.pid);
    (void)reap(child_.pid);
  }

  // The error's number, or -1 where the child ended.
  int tries(const std::string& what) {
    std::string line = what + "\n";
    if (::send(child_.channel.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) return -1;
    std::string answer;
    for (char c = 0; ::read(child_.channel.get(), &c, 1) == 1 && c != '\n';) answer += c;
    return answer.empty() ? -1 : std::stoi(answer);
  }
  void expect_allowed(const std::string& what) { EXPECT_EQ(tries(what), 0) << what; }
  void expect_refused(const std::string& what) {
    int error = tries(what);
    EXPECT_TRUE(error == EPERM || error == EACCES || error == ENOSYS) << what << ": " << error;
  }

  base::testing::TemporaryFolder folder_;
  std::string given_;
  std::string other_;
  Started child_;
};

TEST_P(AttackTest, opens_what_it_was_given_and_nothing_else) {
  if (landlock_version() == 0) {
    // Said, and then it is the tool's own screen that stands.
    EXPECT_TRUE(lacks(child_.missing, kLandlock));
    return;
  }
  expect_allowed("read " + given_ + "/file");
  expect_allowed("list " + given_);
  for (const std::string& what :
       {"read " + other_ + "/file", "read " + given_ + "/link", "list " + other_,
        "write " + given_ + "/file", "make " + given_ + "/new", "make " + other_ + "/new",
        std::string("read /etc/passwd"), std::string("read /proc/self/maps"),
        std::string("read /proc/self/environ"), std::string("list /proc"),
        "read /proc/" + std::to_string(::getpid()) + "/mem"}) {
    expect_refused(what);
  }
  EXPECT_FALSE(std::filesystem::exists(given_ + "/new"));
}

TEST_P(AttackTest, reaches_no_network_and_starts_nothing) {
  ASSERT_TRUE(has_seccomp());
  expect_allowed("thread");
  for (int domain : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET}) {
    expect_refused("socket " + std::to_string(domain));
  }
  for (const char* what : {"fork", "exec", "unshare", "mount", "setuid", "code", "filter"}) {
    expect_refused(what);
  }
}

TEST_P(AttackTest, touches_no_other_process) {
  std::string parent = std::to_string(::getpid());
  expect_allowed("tgkill " + std::to_string(child_.pid));
  for (const char* what : {"ptrace ", "kill ", "tgkill ", "pidfd ", "limit "}) {
    expect_refused(what + parent);
  }
}

TEST_P(AttackTest, has_no_descriptors_and_no_environment_but_its_own) {
  ::setenv("ATTACK_TEST_SECRET", "x", 1);
  int kept_open = ::open((other_ + "/file").c_str(), O_RDWR);
  ASSERT_GE(kept_open, 0);
  auto second = launch(RoleLaunch{"attack", {.memory_bytes = 4ULL << 30}});
  ::close(kept_open);
  ::unsetenv("ATTACK_TEST_SECRET");
  ASSERT_TRUE(second) << second.error().message();
  TearDown();
  child_ = *std::move(second);
  EXPECT_EQ(tries("others"), EBADF);
  expect_allowed("environment");
  expect_allowed("stdout");
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_P(AttackTest, takes_no_more_memory_than_it_was_given) {
  expect_allowed("memory " + std::to_string(64 << 20));
  EXPECT_EQ(tries("memory " + std::to_string(4ULL << 30)), ENOMEM);
  expect_allowed("memory " + std::to_string(64 << 20));
}
#endif

INSTANTIATE_TEST_SUITE_P(, AttackTest, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "namespaces" : "none"; });

bool ends(const base::files::Descriptor& process) {
  pollfd waits{process.get(), POLLIN, 0};
  return ::poll(&waits, 1, 60'000) == 1;
}

TEST(LaunchTest, a_child_ends_with_its_parent) {
  std::array<int, 2> tells{};
  ASSERT_EQ(::pipe(tells.data()), 0);
  pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    auto started = launch(RoleLaunch{"attack", {.memory_bytes = 4ULL << 30}});
    pid_t pid = started ? started->pid : -1;
    (void)!::write(tells[1], &pid, sizeof(pid));
    for (;;) ::pause();
  }
  pid_t child = -1;
  ASSERT_EQ(::read(tells[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  ASSERT_GT(child, 0);
  base::files::Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  ASSERT_TRUE(process.valid());
  pollfd alive{process.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&alive, 1, 0), 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(ends(process));
  for (int fd : tells) ::close(fd);
}

TEST(LaunchTest, says_what_the_kernel_lacks) {
  auto missing = missing_walls();
  ASSERT_TRUE(missing) << missing.error().message();
  EXPECT_EQ(lacks(*missing, kLandlock), landlock_version() == 0);
  EXPECT_EQ(lacks(*missing, kSeccomp), !has_seccomp());
}

TEST(LaunchTest, does_not_start_without_a_wall_that_is_demanded) {
  auto all = launch(RoleLaunch{"attack", {.memory_bytes = 4ULL << 30, .demand = Demand::kAll}});
  auto missing = missing_walls();
  ASSERT_TRUE(missing);
  EXPECT_EQ(all.has_value(), missing->empty());
  if (all) {
    kill_child(all->pid);
    (void)reap(all->pid);
  }
  auto without = launch(RoleLaunch{
      "attack", {.memory_bytes = 4ULL << 30, .demand = Demand::kAll, .namespaces = false}});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().kind(), base::ErrorKind::kUnsupported);
  EXPECT_TRUE(without.error().message().contains(kNamespaces));
}

TEST(LaunchTest, walls_out_of_their_ranges_are_refused) {
  for (const Walls& walls :
       {Walls{.memory_bytes = 1}, Walls{.files = 1}, Walls{.processor = std::chrono::seconds(-1)},
        Walls{.places = {{"relative", Access::kRead}}}}) {
    auto refused = launch(RoleLaunch{"attack", walls});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), base::ErrorKind::kInvalid);
  }
}

}  // namespace

int attack_role(int channel) {
  std::string line;
  for (char c = 0; ::read(channel, &c, 1) == 1;) {
    if (c != '\n') {
      line += c;
      continue;
    }
    std::size_t blank = line.find(' ');
    std::string argument = blank == std::string::npos ? "" : line.substr(blank + 1);
    std::string answer = std::to_string(attempt(line.substr(0, blank), argument)) + "\n";
    (void)!::write(channel, answer.data(), answer.size());
    line.clear();
  }
  return 0;
}

}  // namespace tool::isolate

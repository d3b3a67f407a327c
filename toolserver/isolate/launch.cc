#include "toolserver/isolate/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "toolserver/isolate/first_steps.h"

namespace tool::isolate {
namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;
using std::chrono::steady_clock;

// A child that begins on a loaded machine; it has nothing to wait for.
constexpr std::chrono::seconds kBegins{60};
// Above all descriptors that a child gets.
constexpr int kOutOfTheWay = 16;

std::atomic<bool> can_launch = false;

base::Error no_process(const char* step) {
  return base::fail(base::ErrorKind::kUnavailable, "no process can be made")
      .with_detail(fmt::format("{}: errno {}", step, errno));
}

struct Pair {
  base::files::Descriptor ours;
  base::files::Descriptor theirs;
};

// Out of the way of the numbers that the child knows them by.
base::files::Descriptor moved(int fd) {
  base::files::Descriptor low(fd);
  return base::files::Descriptor(::fcntl(low.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
}

base::Result<Pair> socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return no_process("socketpair");
  }
  Pair pair{moved(ends[0]), moved(ends[1])};
  if (!pair.ours.valid() || !pair.theirs.valid()) return no_process("fcntl");
  return pair;
}

base::Result<Pair> pipe_pair(bool child_reads) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return no_process("pipe");
  base::files::Descriptor reads = moved(ends[0]);
  base::files::Descriptor writes = moved(ends[1]);
  if (!reads.valid() || !writes.valid()) return no_process("fcntl");
  if (child_reads) return Pair{std::move(writes), std::move(reads)};
  return Pair{std::move(reads), std::move(writes)};
}

/// posix_spawn(3) with the signals of a new process, and nothing of ours in its environment.
class Spawn {
 public:
  Spawn() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t set;
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes_, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attributes_, &set);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  void give(const base::files::Descriptor& fd, int as) {
    posix_spawn_file_actions_adddup2(&actions_, fd.get(), as);
  }
  void give_nothing(int as) {
    posix_spawn_file_actions_addopen(&actions_, as, "/dev/null", O_RDWR, 0);
  }

  base::Result<Started> run(const std::string& name) {
    std::string program = "securetool";
    std::string mark(kChildMark);
    std::string label = name;
    std::array<char*, 4> arguments{program.data(), mark.data(), label.data(), nullptr};
    // Freed memory goes back at once: what jemalloc keeps would count against the wall.
    std::string allocator = "MALLOC_CONF=retain:false,dirty_decay_ms:0,muzzy_decay_ms:0";
    std::array<char*, 2> environment{allocator.data(), nullptr};
    Started started;
    int failed = posix_spawn(&started.pid, "/proc/self/exe", &actions_, &attributes_,
                             arguments.data(), environment.data());
    if (failed != 0) {
      errno = failed;
      return no_process("posix_spawn");
    }
    started.process =
        base::files::Descriptor(static_cast<int>(::syscall(__NR_pidfd_open, started.pid, 0)));
    return started;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Sends what the child is to be, and hears how far it came.
base::Result<std::vector<std::string>> begin(int control, const Object& orders) {
  std::string text = base::json::write(Value(orders));
  if (text.size() > kOrderBytes) {
    return base::fail(base::ErrorKind::kInvalid, "arguments and environment are too long");
  }
  for (std::size_t sent = 0; sent < text.size();) {
    ssize_t now = ::send(control, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return no_process("send");
    sent += static_cast<std::size_t>(now);
  }
  ::shutdown(control, SHUT_WR);
  auto until = steady_clock::now() + kBegins;
  std::string report;
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now());
    pollfd waits{control, POLLIN, 0};
    int ready = ::poll(&waits, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return base::fail(base::ErrorKind::kUnavailable, "the child did not begin in time");
    }
    std::array<char, 1024> part{};
    ssize_t got = ::read(control, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || report.size() > kReportBytes) break;
    report.append(part.data(), static_cast<std::size_t>(got));
  }
  return read_report(report);
}

base::Result<Started> started(Spawn& spawn, const std::string& name, Pair control,
                              const Object& orders) {
  ASSIGN_OR_RETURN(Started child, spawn.run(name));
  control.theirs.close();
  auto missing = begin(control.ours.get(), orders);
  if (missing) {
    child.missing = *std::move(missing);
    return child;
  }
  kill_child(child.pid);
  (void)reap(child.pid);
  return std::move(missing).error();
}

Object orders_for(const Walls& walls) {
  return Object{{"walls", to_json(walls)}, {"parent", ::getpid()}};
}

base::Status ready_for(const Walls& walls) {
  if (!can_launch) {
    return base::fail(base::ErrorKind::kInternal,
                      "main() must begin with run_if_child() to start children");
  }
  return check(walls);
}

}  // namespace

void allow_launches() { can_launch = true; }

base::Result<Started> launch(const RoleLaunch& launch) {
  RETURN_IF_ERROR(ready_for(launch.walls));
  ASSIGN_OR_RETURN(Pair control, socket_pair());
  ASSIGN_OR_RETURN(Pair channel, socket_pair());
  Object orders = orders_for(launch.walls);
  orders["role"] = launch.role;
  Spawn spawn;
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) spawn.give_nothing(fd);
  spawn.give(control.theirs, kControl);
  spawn.give(channel.theirs, kChannel);
  ASSIGN_OR_RETURN(Started child, started(spawn, launch.role, std::move(control), orders));
  child.channel = std::move(channel.ours);
  return child;
}

base::Result<Started> launch(const ProgramLaunch& launch) {
  RETURN_IF_ERROR(ready_for(launch.walls));
  ASSIGN_OR_RETURN(Pair control, socket_pair());
  ASSIGN_OR_RETURN(Pair input, pipe_pair(true));
  ASSIGN_OR_RETURN(Pair output, pipe_pair(false));
  ASSIGN_OR_RETURN(Pair errors, pipe_pair(false));
  Object orders = orders_for(launch.walls);
  orders["program"] = launch.program;
  orders["folder"] = launch.folder;
  Array& arguments = orders["arguments"].emplace_array();
  for (const std::string& one : launch.arguments) arguments.emplace_back(one);
  Array& environment = orders["environment"].emplace_array();
  for (const auto& [name, value] : launch.environment) {
    environment.emplace_back(name + "=" + value);
  }
  Spawn spawn;
  spawn.give(input.theirs, STDIN_FILENO);
  spawn.give(output.theirs, STDOUT_FILENO);
  spawn.give(errors.theirs, STDERR_FILENO);
  spawn.give(control.theirs, kControl);
  ASSIGN_OR_RETURN(Started child, started(spawn, launch.program, std::move(control), orders));
  child.input = std::move(input.ours);
  child.output = std::move(output.ours);
  child.errors = std::move(errors.ours);
  return child;
}

base::Result<std::vector<std::string>> missing_walls() {
  ASSIGN_OR_RETURN(Started child, launch(RoleLaunch{std::string(kNoRole), {}}));
  (void)reap(child.pid);
  return std::move(child.missing);
}

void kill_child(pid_t pid) {
  // Its session is its own from its first step on; before that it has no others.
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);
}

int reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  return status;
}

}  // namespace tool::isolate

#include "toolserver/connectors/command/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/files/descriptor.h"

namespace tool::command {
namespace {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;
using base::ErrorKind;
using base::fail;
using base::files::Descriptor;

constexpr auto kToTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kPart = 16 << 10;
constexpr int kSignalBase = 128;
constexpr int kFirstForeign = 3;
// The kernel ends a killed process at once, unless it hangs in a device.
constexpr auto kTimeToDie = std::chrono::seconds(5);

struct Pipe {
  Descriptor read;
  Descriptor write;
};

base::Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorKind::kUnavailable, "a program cannot be started").with_detail("pipe");
  }
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  // A service may run with its own stdin closed; a pipe in that place would be
  // mixed up with the child's.
  for (Descriptor* end : {&pipe.read, &pipe.write}) {
    if (end->get() >= kFirstForeign) continue;
    *end = Descriptor(::fcntl(end->get(), F_DUPFD_CLOEXEC, kFirstForeign));
    if (end->get() < 0) return fail(ErrorKind::kUnavailable, "a program cannot be started");
  }
  return pipe;
}

// The lists that the kernel wants; they point into `texts`.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  // 0, or an error of errno.h.
  int fill(const std::string& folder, int in, int out, int err) {
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    constexpr short kFlags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    for (int error : {
             ::posix_spawnattr_setflags(&attributes_, kFlags),
             ::posix_spawnattr_setpgroup(&attributes_, 0),
             ::posix_spawnattr_setsigdefault(&attributes_, &all),
             ::posix_spawnattr_setsigmask(&attributes_, &none),
             ::posix_spawn_file_actions_adddup2(&actions_, in, 0),
             ::posix_spawn_file_actions_adddup2(&actions_, out, 1),
             ::posix_spawn_file_actions_adddup2(&actions_, err, 2),
             ::posix_spawn_file_actions_addclosefrom_np(&actions_, kFirstForeign),
             ::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()),
         }) {
      if (error != 0) return error;
    }
    return 0;
  }
  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

base::Error cannot_start(int error) {
  return fail(ErrorKind::kUnavailable, "the tool's program cannot be started")
      .with_detail(std::strerror(error));
}

// Its pid. The descriptors are the child's ends of the pipes.
base::Result<pid_t> spawn(ChildProgram& program, int in, int out, int err) {
  SpawnSettings settings;
  if (int error = settings.fill(program.folder, in, out, err); error != 0) {
    return cannot_start(error);
  }
  // Of this thread alone, and handed on to what it starts: a set-user-id program
  // runs with our rights and no others.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return cannot_start(errno);
  std::vector<std::string> words{program.path};
  for (auto& argument : program.arguments) words.push_back(std::move(argument));
  auto argv = pointers(words);
  auto envp = pointers(program.environment);
  pid_t pid = -1;
  int error = ::posix_spawn(&pid, program.path.c_str(), settings.actions(), settings.attributes(),
                            argv.data(), envp.data());
  if (error != 0) return cannot_start(error);
  return pid;
}

// A program that runs. Of one event loop; shared by the tasks that wait for it.
class Child {
 public:
  static base::Result<std::shared_ptr<Child>> start(const asio::any_io_executor& loop,
                                                    ChildProgram& program, ChildLimits limits);
  ~Child() {
    if (ended_) return;
    kill();
    reap();
  }

  // All of its group; the leader is not reaped yet, so the number is still its own.
  void kill() {
    if (!ended_) ::kill(-pid_, SIGKILL);
  }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool too_much() const { return too_much_; }

  static base::Task<void> feed(std::shared_ptr<Child> self, std::string input);
  static base::Task<void> read_output(std::shared_ptr<Child> self);
  static base::Task<void> read_errors(std::shared_ptr<Child> self);
  static base::Task<void> await_end(std::shared_ptr<Child> self);
  // Until it has ended and both readers are done, or `until`.
  base::Task<bool> changed(base::Deadline until) {
    timer_.expires_at(until);
    auto [error] = co_await timer_.async_wait(kToTuple);
    co_return error == asio::error::operation_aborted;
  }
  [[nodiscard]] bool done() const { return ended_ && readers_ == 0; }
  // What is in the pipes, of a program that has ended.
  ChildEnd take();

 private:
  Child(const asio::any_io_executor& loop, pid_t pid, ChildLimits limits)
      : pid_(pid),
        limits_(limits),
        in_(loop),
        out_(loop),
        err_(loop),
        end_(loop),
        timer_(loop, base::Deadline::max()) {}

  void reap() {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
    }
    code_ = info.si_code == CLD_EXITED ? info.si_status : kSignalBase + info.si_status;
    ended_ = true;
  }
  void keep_output(std::string_view part) {
    if (output_.size() + part.size() > limits_.output_bytes) {
      too_much_ = true;
      kill();
      return;
    }
    output_ += part;
  }
  void keep_errors(std::string_view part) {
    errors_ += part;
    if (errors_.size() > limits_.error_bytes) {
      errors_.erase(0, errors_.size() - limits_.error_bytes);
    }
  }
  template <class Keep>
  static void drain(stream_descriptor& from, Keep keep) {
    std::array<char, kPart> part{};
    while (from.is_open()) {
      ssize_t got = ::read(from.native_handle(), part.data(), part.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0 || !keep(std::string_view(part.data(), static_cast<std::size_t>(got)))) return;
    }
  }

  const pid_t pid_;
  const ChildLimits limits_;
  // The other end of in_: while somebody could read, a write is no SIGPIPE.
  Descriptor held_;
  stream_descriptor in_;
  stream_descriptor out_;
  stream_descriptor err_;
  stream_descriptor end_;
  asio::steady_timer timer_;
  std::string output_;
  std::string errors_;
  int readers_ = 2;
  int code_ = 0;
  bool too_much_ = false;
  bool ended_ = false;
};

base::Result<std::shared_ptr<Child>> Child::start(const asio::any_io_executor& loop,
                                                  ChildProgram& program, ChildLimits limits) {
  ASSIGN_OR_RETURN(auto in, make_pipe());
  ASSIGN_OR_RETURN(auto out, make_pipe());
  ASSIGN_OR_RETURN(auto err, make_pipe());
  ASSIGN_OR_RETURN(pid_t pid, spawn(program, in.read.get(), out.write.get(), err.write.get()));
  std::shared_ptr<Child> child(new Child(loop, pid, limits));
  Descriptor end(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (end.get() < 0) return cannot_start(errno);
  child->held_ = std::move(in.read);
  for (const auto* ours : {&in.write, &out.read, &err.read}) {
    if (::fcntl(ours->get(), F_SETFL, O_NONBLOCK) != 0) return cannot_start(errno);
  }
  boost::system::error_code error;
  child->in_.assign(in.write.release(), error);
  if (!error) child->out_.assign(out.read.release(), error);
  if (!error) child->err_.assign(err.read.release(), error);
  if (!error) child->end_.assign(end.release(), error);
  if (error) return cannot_start(error.value());
  return child;
}

// A program need not read what it is given, so an error here is none.
base::Task<void> Child::feed(std::shared_ptr<Child> self, std::string input) {
  if (!input.empty()) co_await asio::async_write(self->in_, asio::buffer(input), kToTuple);
  boost::system::error_code ignored;
  self->in_.close(ignored);
}

base::Task<void> Child::read_output(std::shared_ptr<Child> self) {
  std::string part(kPart, '\0');
  for (;;) {
    auto [error, got] = co_await self->out_.async_read_some(asio::buffer(part), kToTuple);
    if (got > 0 && !self->too_much_) self->keep_output(std::string_view(part).substr(0, got));
    if (error || self->too_much_ || self->ended_) break;
  }
  --self->readers_;
  self->timer_.cancel();
}

base::Task<void> Child::read_errors(std::shared_ptr<Child> self) {
  std::string part(kPart, '\0');
  for (;;) {
    auto [error, got] = co_await self->err_.async_read_some(asio::buffer(part), kToTuple);
    if (got > 0) self->keep_errors(std::string_view(part).substr(0, got));
    if (error || self->ended_) break;
  }
  --self->readers_;
  self->timer_.cancel();
}

base::Task<void> Child::await_end(std::shared_ptr<Child> self) {
  co_await self->end_.async_wait(stream_descriptor::wait_read, kToTuple);
  self->kill();
  self->reap();
  // Whoever left the group may hold the pipes for ever; what is in them now is
  // taken by take().
  boost::system::error_code ignored;
  self->out_.cancel(ignored);
  self->err_.cancel(ignored);
  self->in_.close(ignored);
  self->timer_.cancel();
}

ChildEnd Child::take() {
  drain(out_, [&](std::string_view part) {
    if (!too_much_) keep_output(part);
    return !too_much_;
  });
  // As much as the pipe can hold, since somebody may write on.
  const int held = ::fcntl(err_.native_handle(), F_GETPIPE_SZ);
  std::size_t left = std::max<std::size_t>(kPart, held > 0 ? static_cast<std::size_t>(held) : 0);
  drain(err_, [&](std::string_view part) {
    keep_errors(part);
    bool more = part.size() < left;
    left -= std::min(left, part.size());
    return more;
  });
  return {code_, std::move(output_), std::move(errors_)};
}

enum class Stop : std::uint8_t { kNone, kCancelled, kTimeout, kTooMuch };

Stop reason_to_stop(const Child& child, bool cancelled, base::Deadline deadline) {
  if (child.too_much()) return Stop::kTooMuch;
  if (cancelled) return Stop::kCancelled;
  return std::chrono::steady_clock::now() >= deadline ? Stop::kTimeout : Stop::kNone;
}

base::Error error_of(Stop stop, const ChildLimits& limits) {
  switch (stop) {
    case Stop::kTooMuch:
      return fail(ErrorKind::kTooLarge, "the tool's program wrote more than " +
                                            std::to_string(limits.output_bytes) + " bytes");
    case Stop::kTimeout: return fail(ErrorKind::kTimeout, "the deadline passed");
    default: return fail(ErrorKind::kCancelled, "cancelled");
  }
}

base::Task<base::Result<ChildEnd>> wait_for(std::shared_ptr<Child> child, ChildLimits limits) {
  Stop stop = Stop::kNone;
  auto until = limits.deadline;
  while (!child->done()) {
    auto state = co_await asio::this_coro::cancellation_state;
    bool cancelled = state.cancelled() != asio::cancellation_type::none;
    if (stop == Stop::kNone && !child->ended()) {
      stop = reason_to_stop(*child, cancelled, limits.deadline);
      if (stop != Stop::kNone) {
        child->kill();
        // From here on nothing shortens the wait for its end.
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        until = std::chrono::steady_clock::now() + kTimeToDie;
      }
    } else if (stop != Stop::kNone && std::chrono::steady_clock::now() >= until) {
      break;  // It hangs in the kernel; await_end() reaps it when it can.
    }
    co_await child->changed(until);
  }
  ChildEnd end;
  if (child->ended()) end = child->take();
  if (stop == Stop::kNone && child->too_much()) stop = Stop::kTooMuch;
  if (stop != Stop::kNone) co_return error_of(stop, limits);
  co_return end;
}

}  // namespace

base::Task<base::Result<ChildEnd>> run_child(ChildProgram program, ChildLimits limits) {
  auto loop = co_await asio::this_coro::executor;
  CO_ASSIGN_OR_RETURN(auto child, Child::start(loop, program, limits));
  asio::co_spawn(loop, Child::feed(child, std::move(program.input)), asio::detached);
  asio::co_spawn(loop, Child::read_output(child), asio::detached);
  asio::co_spawn(loop, Child::read_errors(child), asio::detached);
  asio::co_spawn(loop, Child::await_end(child), asio::detached);
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto end = co_await wait_for(std::move(child), limits);
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return end;
}

}  // namespace tool::command

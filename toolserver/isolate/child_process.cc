#include "toolserver/isolate/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "toolserver/isolate/launch.h"

namespace tool::isolate {

namespace asio = boost::asio;
using base::ErrorKind;
using Stream = asio::posix::stream_descriptor;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

// Shared with the coroutine that reads stderr, which ends when the stream is
// closed.
struct ChildProcess::State {
  State(const asio::any_io_executor& loop, ChildOptions wanted, Started started)
      : options(std::move(wanted)),
        pid(started.pid),
        missing(std::move(started.missing)),
        process(loop, started.process.release()),
        input(loop, started.input.release()),
        output(loop, started.output.release()),
        error_output(loop, started.errors.release()) {}

  const ChildOptions options;
  const pid_t pid;
  const std::vector<std::string> missing;
  Stream process;
  Stream input;
  Stream output;
  Stream error_output;
  std::string pending;  // Of stdout, read and not asked for.
  bool output_ended = false;
  bool too_long = false;
  std::string errors;
  std::optional<Exit> ended;
};

namespace {

// Cancels what waits for `stream` at the deadline, for as long as it lives.
class Alarm {
 public:
  Alarm(Stream& stream, base::Deadline deadline)
      : timer_(stream.get_executor()), rang_(std::make_shared<bool>(false)) {
    if (deadline == base::Deadline::max()) return;
    timer_.expires_at(deadline);
    timer_.async_wait([&stream, rang = rang_, live = std::weak_ptr<bool>(live_)](auto error) {
      if (error || live.expired()) return;
      *rang = true;
      boost::system::error_code ignored;
      stream.cancel(ignored);
    });
  }
  [[nodiscard]] bool rang() const { return *rang_; }

 private:
  asio::steady_timer timer_;
  std::shared_ptr<bool> rang_;
  std::shared_ptr<bool> live_ = std::make_shared<bool>(true);
};

base::Error stopped(const Alarm& alarm) {
  if (alarm.rang()) return base::fail(ErrorKind::kTimeout, "the program does not answer in time");
  return base::fail(ErrorKind::kCancelled, "the call was cancelled");
}

bool was_stopped(const boost::system::error_code& error) {
  return error == asio::error::operation_aborted;
}

template <class State>
base::Task<void> keep_errors(std::shared_ptr<State> state) {
  std::array<char, 4096> part{};
  for (;;) {
    auto [error, got] = co_await state->error_output.async_read_some(asio::buffer(part), kTuple);
    if (error) co_return;
    std::string& kept = state->errors;
    kept.append(part.data(), got);
    if (kept.size() > state->options.errors_bytes) {
      kept.erase(0, kept.size() - state->options.errors_bytes);
    }
  }
}

base::Status check(const ChildOptions& options) {
  auto is_path = [](const std::string& text) {
    return text.starts_with('/') && !text.contains('\0');
  };
  if (!is_path(options.program)) {
    return base::fail(ErrorKind::kInvalid, "program: must be an absolute path");
  }
  if (!is_path(options.folder)) {
    return base::fail(ErrorKind::kInvalid, "folder: must be an absolute path");
  }
  for (const std::string& one : options.arguments) {
    if (one.contains('\0')) return base::fail(ErrorKind::kInvalid, "arguments: hold a NUL");
  }
  for (const auto& [name, value] : options.environment) {
    if (name.empty() || name.contains('=') || name.contains('\0') || value.contains('\0')) {
      return base::fail(ErrorKind::kInvalid, "environment: a name is empty or holds '=' or NUL");
    }
  }
  if (options.line_bytes == 0) return base::fail(ErrorKind::kInvalid, "line_bytes: must not be 0");
  return {};
}

Exit exit_of(int status) {
  if (WIFSIGNALED(status)) return {.code = 128 + WTERMSIG(status), .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

}  // namespace

base::Task<base::Result<std::unique_ptr<ChildProcess>>> ChildProcess::start(
    ChildOptions options, base::BlockingPool& pool) {
  CO_RETURN_IF_ERROR(check(options));
  auto loop = co_await asio::this_coro::executor;
  ProgramLaunch wanted{options.program, options.arguments, options.environment, options.folder,
                       options.walls};
  auto job = [wanted = std::move(wanted)] { return launch(wanted); };
  CO_ASSIGN_OR_RETURN(Started started, co_await pool.run(std::move(job)));
  auto state = std::make_shared<State>(loop, std::move(options), std::move(started));
  asio::co_spawn(loop, keep_errors(state), asio::detached);
  co_return std::unique_ptr<ChildProcess>(new ChildProcess(std::move(state)));
}

ChildProcess::~ChildProcess() {
  boost::system::error_code ignored;
  for (Stream* stream : {&state_->input, &state_->output, &state_->error_output}) {
    stream->close(ignored);
  }
  if (state_->ended) return;
  kill_child(state_->pid);
  (void)reap(state_->pid);
}

base::Task<base::Status> ChildProcess::write(std::string bytes, base::Deadline deadline) {
  auto state = state_;
  if (!state->input.is_open()) {
    co_return base::fail(ErrorKind::kUnavailable, "the program's input is closed");
  }
  Alarm alarm(state->input, deadline);
  auto [error, sent] = co_await asio::async_write(state->input, asio::buffer(bytes), kTuple);
  if (!error) co_return base::Status();
  // What is left of it would be the beginning of the next.
  boost::system::error_code ignored;
  state->input.close(ignored);
  if (was_stopped(error)) co_return stopped(alarm);
  co_return base::fail(ErrorKind::kUnavailable, "the program reads no more")
      .with_detail(error.message());
}

base::Task<base::Status> ChildProcess::write_line(std::string line, base::Deadline deadline) {
  if (line.contains('\n')) {
    co_return base::fail(ErrorKind::kInvalid, "a line must not hold a line end");
  }
  line += '\n';
  co_return co_await write(std::move(line), deadline);
}

void ChildProcess::close_input() {
  boost::system::error_code ignored;
  state_->input.close(ignored);
}

base::Task<base::Result<std::string>> ChildProcess::read_some(std::size_t most,
                                                              base::Deadline deadline) {
  auto state = state_;
  if (state->pending.empty() && !state->output_ended) {
    state->pending.resize(std::min<std::size_t>(most, 64 << 10));
    Alarm alarm(state->output, deadline);
    auto [error, got] =
        co_await state->output.async_read_some(asio::buffer(state->pending), kTuple);
    state->pending.resize(got);
    if (was_stopped(error)) co_return stopped(alarm);
    state->output_ended = static_cast<bool>(error);
  }
  std::string taken = state->pending.substr(0, most);
  state->pending.erase(0, taken.size());
  co_return taken;
}

base::Task<base::Result<std::optional<std::string>>> ChildProcess::read_line(
    base::Deadline deadline) {
  auto state = state_;
  Alarm alarm(state->output, deadline);
  std::size_t looked = 0;
  for (;;) {
    std::size_t end = state->pending.find('\n', looked);
    std::size_t length = end == std::string::npos ? state->pending.size() : end;
    bool ends_in_return =
        length > 0 && end != std::string::npos && state->pending[length - 1] == '\r';
    if (state->too_long || length - (ends_in_return ? 1 : 0) > state->options.line_bytes) {
      state->too_long = true;
      state->pending.clear();
      co_return base::fail(ErrorKind::kTooLarge, "the program writes too long a line");
    }
    if (end != std::string::npos || (state->output_ended && length > 0)) {
      std::string line = state->pending.substr(0, length - (ends_in_return ? 1 : 0));
      state->pending.erase(0, end == std::string::npos ? length : end + 1);
      co_return std::optional<std::string>(std::move(line));
    }
    if (state->output_ended) co_return std::optional<std::string>();
    looked = state->pending.size();
    constexpr std::size_t kPart = 16 << 10;
    state->pending.resize(looked + kPart);
    auto [error, got] = co_await state->output.async_read_some(
        asio::buffer(state->pending.data() + looked, kPart), kTuple);
    state->pending.resize(looked + got);
    if (was_stopped(error)) co_return stopped(alarm);
    state->output_ended = static_cast<bool>(error);
  }
}

base::Task<base::Result<Exit>> ChildProcess::wait(base::Deadline deadline) {
  auto state = state_;
  if (!state->ended) {
    Alarm alarm(state->process, deadline);
    auto [error] = co_await state->process.async_wait(Stream::wait_read, kTuple);
    if (error) co_return stopped(alarm);
    if (!state->ended) state->ended = exit_of(reap(state->pid));
  }
  co_return *state->ended;
}

void ChildProcess::kill() {
  if (!state_->ended) kill_child(state_->pid);
}

const std::string& ChildProcess::errors() const { return state_->errors; }
pid_t ChildProcess::pid() const { return state_->pid; }
const std::vector<std::string>& ChildProcess::missing() const { return state_->missing; }

}  // namespace tool::isolate

#pragma once

// Tests run against real servers, and a server that outlives its test is a
// stranger on the machine. A ChildProcess dies with its owner, also when the
// test itself is killed, and takes its own children along.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"

namespace base::testing {

/// A TCP port on 127.0.0.1 that was free a moment ago. Another process may
/// take it before its user does: a server that fails to bind is started again
/// on another.
[[nodiscard]] std::uint16_t free_port();

/// Whether 127.0.0.1:`port` accepts a connection.
[[nodiscard]] bool accepts_connections(std::uint16_t port);

/// Whether GET `path` on 127.0.0.1:`port` is answered with status 200 within
/// a second. Plain HTTP.
[[nodiscard]] bool answers_ok(std::uint16_t port, const std::string& path);

/// A setting that a test cannot run without. Errors: kInvalid  not set; the
/// message names the variable and says what belongs there.
[[nodiscard]] Result<std::string> required_environment(const std::string& name,
                                                       const std::string& meaning);

/// A new private folder under the system's folder for temporary files,
/// removed with all it holds at the end.
class TemporaryFolder {
 public:
  /// Aborts when none can be made: no test can go on.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The account a program runs under, e.g. for PostgreSQL, which refuses root.
struct Account {
  uid_t user = 0;
  gid_t group = 0;

  /// Errors: kNotFound  no such user.
  [[nodiscard]] static Result<Account> of_user(const std::string& name);
};

struct Program {
  std::string path;  ///< Of the executable; PATH is not searched.
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< Added to our own.
  std::string output = {};                    ///< File for what it prints; dropped when empty.
  std::string folder = {};                    ///< Where it runs; ours when empty.
  std::optional<Account> account = {};        ///< Ours when unset.
  int stop_signal = 15;                       ///< Asks it to end; SIGTERM.
  std::chrono::milliseconds stop_time{5000};  ///< Until it is killed instead.
};

/// A running program in a process group of its own. Used from one thread, and
/// started from a thread that lives as long as it: the kernel ends the child
/// when that thread ends.
class ChildProcess {
 public:
  /// Errors: kUnavailable  cannot be executed (no such file, no permission).
  [[nodiscard]] static Result<ChildProcess> start(Program program);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  /// Asks the program to stop, then kills its group.
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running();
  /// Asks `ready` again and again until it says yes.
  /// Errors: kUnavailable  the program ended first; kTimeout  never ready.
  /// The detail holds the end of its output.
  [[nodiscard]] Status wait_until(const std::function<bool()>& ready,
                                  std::chrono::milliseconds limit);
  /// Waits for its end. The exit code, or 128 plus the signal that ended it.
  /// Errors: kTimeout  still running.
  [[nodiscard]] Result<int> wait(std::chrono::milliseconds limit);
  /// Sends a signal to the program alone; nothing once it has ended.
  void signal(int number);
  /// stop_signal, then SIGKILL to the group after stop_time.
  void stop();
  /// SIGKILL to the group, as in a power cut.
  void kill();

 private:
  ChildProcess(Program program, pid_t pid) : program_(std::move(program)), pid_(pid) {}
  /// Ends the group and takes the exit code; blocks until the program is gone.
  void collect();
  [[nodiscard]] std::string output_end() const;

  Program program_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

}  // namespace base::testing

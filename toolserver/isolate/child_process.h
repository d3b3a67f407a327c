#pragma once

// A program that somebody else wrote, as a child with walls around it: lines
// go in, lines come out, and neither can be longer than was said. It ends with
// its owner, with all the processes that it started.

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "toolserver/isolate/walls.h"

namespace tool::isolate {

struct ChildOptions {
  std::string program;                 ///< Absolute path; given to be run by `walls.places`.
  std::vector<std::string> arguments;  ///< Without the program itself.
  /// All of it: nothing of this process's environment is passed on.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string folder = "/";  ///< Working folder; absolute.
  Walls walls;
  std::size_t line_bytes = 4ULL << 20;     ///< Of a line of its output, without the line end.
  std::size_t errors_bytes = 16ULL << 10;  ///< The last of its stderr that are kept.
};

/// How a program ended.
struct Exit {
  int code = 0;    ///< 0 to 255; of one that a signal ended, 128 + signal.
  int signal = 0;  ///< 0 where none did.
};

/// Used from the event loop that started it; one read and one write at a time.
class ChildProcess {
 public:
  /// Starts `options.program`. `pool` outlives the child: the kernel ends a
  /// child with the thread that started it.
  /// Errors: kInvalid  an option, by name; kNotFound  there is no such program,
  ///         or it cannot be run; kUnsupported  the kernel has not all walls
  ///         and they are demanded; kUnavailable  no process can be made.
  [[nodiscard]] static base::Task<base::Result<std::unique_ptr<ChildProcess>>> start(
      ChildOptions options, base::BlockingPool& pool);
  /// Kills what still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Writes `line` and a line end to its stdin.
  /// Errors: kInvalid  a line end inside; kTimeout  not all was taken until
  ///         then, and the input is of no more use; kUnavailable  it reads no
  ///         more; kCancelled.
  [[nodiscard]] base::Task<base::Status> write_line(std::string line, base::Deadline deadline);
  /// Bytes as they are. Errors: as write_line.
  [[nodiscard]] base::Task<base::Status> write(std::string bytes, base::Deadline deadline);
  /// Ends its stdin.
  void close_input();

  /// The next line of its stdout, without its end ("\n" or "\r\n"); nothing
  /// when the output has ended. A last line may lack the end.
  /// Errors: kTooLarge  longer than line_bytes, and no more is read; kTimeout  the
  ///         line has not come, and can be waited for again; kCancelled.
  [[nodiscard]] base::Task<base::Result<std::optional<std::string>>> read_line(
      base::Deadline deadline);
  /// What stdout gives, up to `most` bytes at a time; empty at the end.
  /// Errors: kTimeout; kCancelled.
  [[nodiscard]] base::Task<base::Result<std::string>> read_some(std::size_t most,
                                                                base::Deadline deadline);

  /// Waits until it has ended. Errors: kTimeout; kCancelled.
  [[nodiscard]] base::Task<base::Result<Exit>> wait(base::Deadline deadline);
  /// Ends it and all that it started, at once; wait() still tells how it ended.
  void kill();

  /// The last options.errors_bytes of its stderr so far, as they came.
  [[nodiscard]] const std::string& errors() const;
  [[nodiscard]] pid_t pid() const;
  /// Walls that the kernel does not have, by name.
  [[nodiscard]] const std::vector<std::string>& missing() const;

 private:
  struct State;
  explicit ChildProcess(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace tool::isolate

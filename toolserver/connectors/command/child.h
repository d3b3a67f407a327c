#pragma once

// A program of this machine, run for one call: with these arguments, these
// variables and nothing else of ours, until it ends, writes too much or runs out
// of time. Whatever it started goes with it.
//
// This is the one place where a tool starts a process.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace tool::command {

struct ChildProgram {
  std::string path;                      ///< Absolute; PATH is not searched.
  std::vector<std::string> arguments;    ///< After the program's own name. No NUL in one.
  std::vector<std::string> environment;  ///< "NAME=value", all that it gets.
  std::string folder;                    ///< Absolute; where it runs.
  std::string input;                     ///< For its stdin, which ends after it.
};

struct ChildLimits {
  std::size_t output_bytes = 1 << 20;  ///< More on stdout ends it.
  std::size_t error_bytes = 4 << 10;   ///< The last of stderr that are kept.
  base::Deadline deadline = base::Deadline::max();
};

struct ChildEnd {
  int code = 0;        ///< Exit code, or 128 plus the signal that ended it.
  std::string output;  ///< All of stdout.
  std::string errors;  ///< The end of stderr.
};

/// Runs `program` in a process group of its own: stdin, stdout and stderr are pipes, no other
/// descriptor of ours is open in it, signals are as by default, and no program it runs gains rights
/// (no_new_privs). When it ends, all that is left of its group is killed; a process that made
/// itself another group or session is not found again, and holds up nothing. Ends the group with
/// SIGKILL on a limit, the deadline, or when the coroutine is cancelled or destroyed. Blocks the
/// event loop only while the kernel starts the program. Errors: kUnavailable  it cannot be started;
/// kTooLarge  too much on stdout;
///         kTimeout  the deadline passed; kCancelled  the caller gave up.
[[nodiscard]] base::Task<base::Result<ChildEnd>> run_child(ChildProgram program,
                                                           ChildLimits limits);

}  // namespace tool::command

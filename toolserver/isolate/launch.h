#pragma once

// Starts a child. This process has many threads, and after fork() such a
// process may do next to nothing; so the child is this same program from its
// beginning, which builds the walls around itself while it has one thread, and
// then is what it was started for: a part of this program, by its role, or
// another program in its place.

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/files/descriptor.h"
#include "toolserver/isolate/walls.h"

namespace tool::isolate {

/// A part of this program that runs as a child. `main` gets its end of the
/// channel and returns the exit code.
struct Role {
  std::string_view name;
  int (*main)(int channel);
};

/// The first statement of main(). In a child: its work, and then its exit code.
/// In any other process: nothing, and children can be started from then on.
[[nodiscard]] std::optional<int> run_if_child(int argc, char** argv, std::span<const Role> roles);

struct RoleLaunch {
  std::string role;
  Walls walls;
};

struct ProgramLaunch {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string folder;
  Walls walls;
};

/// A child that has begun, with its walls up.
struct Started {
  pid_t pid = -1;
  base::files::Descriptor process;  ///< Readable when it has ended (pidfd_open(2)).
  base::files::Descriptor channel;  ///< Of a role: a stream socket.
  base::files::Descriptor input;    ///< Of a program, as the next two: pipes.
  base::files::Descriptor output;
  base::files::Descriptor errors;
  std::vector<std::string> missing;  ///< Walls that the kernel does not have, by name.
};

/// Blocks until the child has begun, some 20 ms. The calling thread outlives
/// the child: the kernel ends a child with the thread that started it.
/// Errors: kInvalid  a wall; kNotFound  no such program, or not to be run;
///         kUnsupported  a wall is missing and demanded; kUnavailable  no
///         process can be made, or it did not begin in time; kInternal  main()
///         does not begin with run_if_child(), or a wall cannot be built.
[[nodiscard]] base::Result<Started> launch(const RoleLaunch& launch);
[[nodiscard]] base::Result<Started> launch(const ProgramLaunch& launch);

/// Asks a child with all walls, which ends at once, what this kernel lacks.
/// Blocks. Errors: as launch().
[[nodiscard]] base::Result<std::vector<std::string>> missing_walls();

/// Kills the child with all that it started, as far as its walls let it be
/// found. The caller still waits for it.
void kill_child(pid_t pid);
/// Waits for a child that ended, or was killed; its wait status (waitpid(2)).
[[nodiscard]] int reap(pid_t pid);

}  // namespace tool::isolate

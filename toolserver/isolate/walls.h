#pragma once

// What a child process may take and reach, as a value. Whoever starts a child
// says all of it; what is not given is not there.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"

namespace tool::isolate {

/// kNone: no socket can be made, and there is no network to reach.
/// kAllowed: IPv4 and IPv6 to wherever this machine reaches.
enum class Network : std::uint8_t { kNone, kAllowed };

/// kNone: threads alone. kAllowed: children of its own, which have the same
/// walls and end with it.
enum class Processes : std::uint8_t { kNone, kAllowed };

/// Each includes the one before it.
enum class Access : std::uint8_t {
  kRead,   ///< Files and the lists of folders.
  kRun,    ///< Also start programs.
  kWrite,  ///< Also change, make and remove; not start programs.
};

/// A file or a folder with all below it. A place that does not exist is not
/// given; links are followed once, when the child starts.
struct Place {
  std::string path;  ///< Absolute.
  Access access = Access::kRead;
};

/// Names of walls that a kernel may lack, as they stand in logs and metrics.
inline constexpr const char* kLandlock = "landlock";      ///< Files.
inline constexpr const char* kSeccomp = "seccomp";        ///< System calls.
inline constexpr const char* kNamespaces = "namespaces";  ///< Network, processes, IPC.

/// Whether a child starts where the kernel cannot build all of its walls.
enum class Demand : std::uint8_t { kWhatThereIs, kAll };

struct Walls {
  /// Address space of each process (RLIMIT_AS), and so of what it may ask for.
  std::uint64_t memory_bytes = 512ULL << 20;
  std::chrono::seconds processor{0};  ///< Of each process, together; 0 for no limit.
  unsigned files = 64;                ///< Open at once, of each process; at least 8.
  std::uint64_t file_bytes = 0;       ///< Of a file that it writes; 0: no byte to any file.
  Network network = Network::kNone;
  Processes processes = Processes::kNone;
  std::vector<Place> places;  ///< Nothing else can be opened.
  Demand demand = Demand::kWhatThereIs;
  /// Off leaves out the wall of namespaces; for tests of the others.
  bool namespaces = true;
};

/// What dynamically linked programs need: /usr, /bin, /lib and the like to run,
/// the linker's cache, time zones, CA certificates, /dev/null and /dev/urandom.
[[nodiscard]] std::vector<Place> program_places();

/// Errors: kInvalid  a number is out of its range, or a path is not absolute.
[[nodiscard]] base::Status check(const Walls& walls);

/// The form in which a child gets them.
[[nodiscard]] base::json::Value to_json(const Walls& walls);
/// Errors: kInvalid  names the member; also where check() fails.
[[nodiscard]] base::Result<Walls> walls_from_json(const base::json::Value& value);

/// Which code the walls stand around.
enum class Tenant : std::uint8_t {
  kOwnCode,  ///< This program's: only the system calls that it is known to make.
  kProgram,  ///< Another program: all but those that no tool needs.
};

/// Builds the walls around this process, which has one thread; there is no way
/// back. All but limit_memory(). Returns what the kernel does not have, by name. With
/// Processes::kAllowed the process may go on as a child of itself, so that the
/// end of the first ends all.
/// Errors: kUnsupported  something is missing and walls.demand is kAll;
///         kInternal  a wall that the kernel has cannot be built.
[[nodiscard]] base::Result<std::vector<std::string>> build(const Walls& walls, Tenant tenant);

/// The last of the walls: this process may be larger than what comes after it.
/// False where the kernel does not take the limit.
[[nodiscard]] bool limit_memory(const Walls& walls, Tenant tenant);

}  // namespace tool::isolate

#pragma once

// The parent's side of a part of this program that runs as a child. The child
// may die of what it is asked, or be taken over by it: then whoever waits for
// it is told once, a new one begins, and nobody else notices.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/isolate/walls.h"

namespace tool::isolate {

/// What becomes of a child; told on a thread of its own.
struct PartEvent {
  enum class Kind : std::uint8_t {
    kStarted,  ///< `missing` are walls that the kernel lacks.
    kEnded,    ///< By itself, or because of what it sent; `reason` says which.
    kKilled,   ///< It did not end a call when it should have.
    kFailed,   ///< It does not begin; it is tried again.
  };
  Kind kind = Kind::kStarted;
  std::string reason;
  std::vector<std::string> missing;
};

struct PartOptions {
  std::string role;
  Walls walls;
  std::size_t answer_bytes = 16ULL << 20;   ///< Of one answer; more ends the child.
  std::size_t waiting_bytes = 64ULL << 20;  ///< Of requests that it has not taken yet.
  /// How long a call may go on that was cancelled or is over its deadline;
  /// then the child is killed.
  std::chrono::milliseconds grace{5000};
  /// Between a child that lived shortly and the next; the first follows at once.
  std::chrono::milliseconds longest_pause{2000};
  /// What a child begins with, made anew for each. `after_failure`: the one
  /// before did not come to its first request.
  std::function<std::string(bool after_failure)> opening;
  std::function<void(const PartEvent&)> on_event;
};

/// Safe to use from any event loop.
class PartClient {
 public:
  /// Blocks until the first child is ready for requests.
  /// Errors: as launch(); kInvalid  what the child says that it cannot open.
  [[nodiscard]] static base::Result<std::unique_ptr<PartClient>> start(PartOptions options);
  /// Kills the child; calls that still wait are answered as kUnavailable.
  ~PartClient();
  PartClient(const PartClient&) = delete;
  PartClient& operator=(const PartClient&) = delete;

  /// The child's answer to `request`. `on_progress` gets its latest note at
  /// most twice a second, on the caller's loop. A request that no child has
  /// taken yet waits for the next one. Where the coroutine is cancelled the
  /// child is told, and the answer is still waited for.
  /// Errors: kUnavailable  the child ended meanwhile: nobody knows how far it
  ///         came; kRateLimited  too much waits already, and nothing was done;
  ///         kTimeout, kCancelled  it did not end the call within the grace, and
  ///         was killed.
  [[nodiscard]] base::Task<base::Result<std::string>> call(
      std::string request, base::Deadline deadline,
      std::function<void(const std::string&)> on_progress = {});

 private:
  class Supervisor;
  explicit PartClient(std::unique_ptr<Supervisor> supervisor);
  const std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace tool::isolate

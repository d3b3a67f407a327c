#pragma once

// The child's side: a part of this program that answers requests over the
// channel, several at a time, until its parent ends it.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace tool::isolate {

/// A request under way. Safe from any thread.
class Ticket {
 public:
  explicit Ticket(std::function<void(std::string)> tell) : tell_(std::move(tell)) {}

  /// The parent asks for no answer any more; one is owed all the same.
  [[nodiscard]] bool cancelled() const { return cancelled_; }
  void cancel() { cancelled_ = true; }
  /// What the parent is told meanwhile.
  void progress(std::string note) const { tell_(std::move(note)); }

 private:
  std::atomic<bool> cancelled_ = false;
  const std::function<void(std::string)> tell_;
};

/// Answers one request; many run side by side, each on a thread that has no other
/// work meanwhile. Must not throw.
using PartHandler = std::function<std::string(std::string request, Ticket& ticket)>;
/// Makes the handler of what the parent begins with; the error goes to it.
using PartOpening = std::function<base::Result<PartHandler>(std::string opening)>;

struct PartLimits {
  std::size_t request_bytes = 32ULL << 20;
  std::size_t at_once = 64;  ///< More is a parent that does not count.
};

/// The main() of a role. Returns its exit code when the parent has gone, or
/// has sent what it never sends.
[[nodiscard]] int serve_part(int channel, PartLimits limits, const PartOpening& open);

}  // namespace tool::isolate

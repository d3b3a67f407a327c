#pragma once

// Work on a pool thread cannot be interrupted, so it asks now and then whether
// anybody still wants it.

#include <atomic>
#include <memory>

#include "base/core/result.h"
#include "base/runtime/request_context.h"

namespace tool::files {

struct Watch {
  base::Deadline deadline = base::Deadline::max();
  std::shared_ptr<std::atomic<bool>> stopped = std::make_shared<std::atomic<bool>>(false);

  /// Errors: kCancelled  somebody set `stopped`; kTimeout  the deadline passed.
  [[nodiscard]] base::Status check() const {
    if (stopped->load(std::memory_order_relaxed)) {
      return base::fail(base::ErrorKind::kCancelled, "the call was cancelled");
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return base::fail(base::ErrorKind::kTimeout, "the deadline passed");
    }
    return {};
  }
};

}  // namespace tool::files

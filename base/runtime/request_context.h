#pragma once

// What travels with a request through all layers: who asks (as an id for the
// logs) and until when an answer is of use.

#include <chrono>
#include <cstdint>
#include <string>

namespace base {

using Deadline = std::chrono::steady_clock::time_point;

/// Small and copied by value. Cancellation travels with the coroutine itself
/// (Asio's per-operation cancellation), not in here.
struct RequestContext {
  std::uint64_t request_id = 0;
  Deadline deadline = Deadline::max();

  /// The id as 16 hexadecimal digits, as in the X-Request-Id header and logs.
  [[nodiscard]] std::string id_text() const;
  [[nodiscard]] bool expired() const { return std::chrono::steady_clock::now() >= deadline; }
};

}  // namespace base

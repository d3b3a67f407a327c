#include "toolserver/guard/breaker.h"

#include <algorithm>

namespace tool::guard {

bool CircuitBreaker::admits(Time now) {
  std::lock_guard held(mutex_);
  if (failures_ < kFailures) return true;
  if (now < open_until_) return false;
  open_until_ = now + pause_;  // Others wait for this one.
  return true;
}

void CircuitBreaker::succeeded() {
  std::lock_guard held(mutex_);
  failures_ = 0;
  pause_ = kFirstPause;
}

void CircuitBreaker::failed(Time now) {
  std::lock_guard held(mutex_);
  if (++failures_ < kFailures) return;
  if (failures_ > kFailures) pause_ = std::min(2 * pause_, kLongestPause);
  open_until_ = now + pause_;
}

}  // namespace tool::guard

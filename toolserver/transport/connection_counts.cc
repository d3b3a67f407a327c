#include "toolserver/transport/connection_counts.h"

#include <chrono>

#include "toolserver/pipeline/rate.h"

namespace tool::transport {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{1000};

}  // namespace

Outcome<std::unique_ptr<ConnectionCounts::Place>> ConnectionCounts::enter(
    const Principal& principal) {
  std::string key = pipeline::key_of(principal);
  std::lock_guard lock(mutex_);
  auto& count = counts_[key];
  if (count >= of_principal_) {
    Fault fault = refuse(Code::kBusy, "too many connections of this principal");
    fault.retry_after = kRetryAfter;
    return fault;
  }
  ++count;
  return std::make_unique<Place>(*this, std::move(key));
}

void ConnectionCounts::set_limit(std::size_t of_principal) {
  std::lock_guard lock(mutex_);
  of_principal_ = of_principal;
}

void ConnectionCounts::leave(const std::string& principal) {
  std::lock_guard lock(mutex_);
  auto found = counts_.find(principal);
  if (--found->second == 0) counts_.erase(found);
}

}  // namespace tool::transport

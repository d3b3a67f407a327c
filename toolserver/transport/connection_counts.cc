#include "toolserver/transport/connection_counts.h"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace tool::transport {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{1000};

Fault busy(std::string message) {
  Fault fault = refuse(Code::kBusy, std::move(message));
  fault.retry_after = kRetryAfter;
  return fault;
}

using Counts = std::unordered_map<std::string, std::size_t>;

void give_back(Counts& counts, const std::string& key) {
  auto found = counts.find(key);
  if (--found->second == 0) counts.erase(found);
}

}  // namespace

struct ConnectionCounts::State {
  std::mutex mutex;
  // All guarded by mutex.
  ConnectionLimits limits;
  std::size_t connections = 0;
  std::size_t unauthenticated = 0;
  Counts addresses;
  Counts principals;
};

ConnectionCounts::ConnectionCounts(ConnectionLimits limits) : state_(std::make_unique<State>()) {
  state_->limits = limits;
}

ConnectionCounts::~ConnectionCounts() = default;

Outcome<std::unique_ptr<ConnectionCounts::Place>> ConnectionCounts::admit(
    const std::string& address) {
  std::lock_guard lock(state_->mutex);
  const ConnectionLimits& limits = state_->limits;
  if (state_->connections >= limits.connections) return busy("too many connections");
  if (state_->unauthenticated >= limits.unauthenticated) {
    return busy("too many connections that have not authenticated");
  }
  auto& of_address = state_->addresses[address];
  if (of_address >= limits.of_address) return busy("too many connections from this address");
  ++of_address;
  ++state_->connections;
  ++state_->unauthenticated;
  return std::make_unique<Place>(*this, address);
}

std::size_t ConnectionCounts::connections() const {
  std::lock_guard lock(state_->mutex);
  return state_->connections;
}

void ConnectionCounts::set_limits(ConnectionLimits limits) {
  std::lock_guard lock(state_->mutex);
  state_->limits = limits;
}

ConnectionCounts::Place::Place(ConnectionCounts& counts, std::string address)
    : counts_(counts), address_(std::move(address)) {}

ConnectionCounts::Place::~Place() {
  State& state = *counts_.state_;
  std::lock_guard lock(state.mutex);
  --state.connections;
  give_back(state.addresses, address_);
  if (known_) {
    give_back(state.principals, subject_);
  } else {
    --state.unauthenticated;
  }
}

Outcome<void> ConnectionCounts::Place::authenticated(const std::string& subject) {
  if (known_) return {};
  State& state = *counts_.state_;
  std::lock_guard lock(state.mutex);
  auto& of_principal = state.principals[subject];
  if (of_principal >= state.limits.of_principal) {
    return busy("too many connections of this principal");
  }
  ++of_principal;
  --state.unauthenticated;
  subject_ = subject;
  known_ = true;
  return {};
}

}  // namespace tool::transport

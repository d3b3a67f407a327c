#include "lakeproxy/measure/wait_meter.h"

namespace lake::measure {

Waits WaitMeter::take(std::uint64_t request_id) {
  auto found = watched_.find(request_id);
  if (found == watched_.end()) return {};
  Waits waits = found->second.waits;
  watched_.erase(found);
  return waits;
}

void WaitMeter::begin(std::uint64_t request_id, Party party) {
  auto found = watched_.find(request_id);
  if (found == watched_.end()) return;
  Watched& watched = found->second;
  ++(party == Party::kPostgres ? watched.waits.postgres : watched.waits.store);
  if (watched.open++ == 0) watched.since = std::chrono::steady_clock::now();
}

// A wait may have begun before its request was watched, or end after.
void WaitMeter::end(std::uint64_t request_id) {
  auto found = watched_.find(request_id);
  if (found == watched_.end() || found->second.open == 0) return;
  Watched& watched = found->second;
  if (--watched.open == 0) watched.waits.waited += std::chrono::steady_clock::now() - watched.since;
}

}  // namespace lake::measure

#include "toolserver/federation/proof/proof_memory.h"

#include <algorithm>

#include "base/jose/jwt.h"
#include "toolserver/federation/proof/forward_proof.h"

namespace tool::federation {

Outcome<void> ProofMemory::admit(const std::string& issuer, const std::string& id,
                                 std::int64_t expires_at, base::WallTime now) {
  std::lock_guard lock(mutex_);
  // A clock that is set back brings no forgotten time back.
  forgotten_ = std::max(forgotten_, base::jose::numeric_date(now - kProofLeeway));
  if (expires_at < forgotten_) {
    return refuse(Code::kStale, "the forwarding proof is out of its time");
  }
  Seen& seen = nodes_[issuer];
  while (!seen.by_end.empty() && seen.by_end.begin()->first < forgotten_) {
    seen.ids.erase(seen.by_end.begin()->second);
    seen.by_end.erase(seen.by_end.begin());
  }
  if (seen.ids.contains(id)) {
    return refuse(Code::kReplay, "the forwarding proof was used before");
  }
  if (seen.ids.size() >= kOfOneNode) {
    Fault fault = refuse(Code::kBusy, "too many forwarded calls of this node");
    fault.retry_after = std::chrono::milliseconds(1'000);
    return fault;
  }
  seen.ids.insert(id);
  seen.by_end.emplace(expires_at, id);
  return {};
}

}  // namespace tool::federation

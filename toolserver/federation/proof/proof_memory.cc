#include "toolserver/federation/proof/proof_memory.h"

#include <algorithm>
#include <span>

#include "base/crypto/digest.h"
#include "base/jose/jwt.h"
#include "toolserver/federation/proof/forward_proof.h"

namespace tool::federation {
namespace {

// What is kept of an id: two of them differ here as well.
MessageNonce kept(std::string_view id) {
  auto digest = base::crypto::sha256(id);
  MessageNonce out{};
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

Fault full() {
  Fault fault = refuse(Code::kBusy, "too many forwarded calls of this node");
  fault.retry_after = std::chrono::milliseconds(1'000);
  return fault;
}

}  // namespace

ProofMemory::ProofMemory(base::Random& random, Limits limits) : limits_(limits) {
  random.fill(std::as_writable_bytes(std::span(hash_key_)));
}

// Of every node, so that one that has gone holds nobody's room.
void ProofMemory::forget(std::int64_t before) {
  if (before <= forgotten_) return;
  // A clock that is set back brings no forgotten time back.
  forgotten_ = before;
  for (auto& [node, seen] : nodes_) {
    while (!seen.by_end.empty() && seen.by_end.begin()->first < forgotten_) {
      std::size_t gone = seen.by_end.begin()->second.size();
      seen.count -= gone;
      count_ -= gone;
      seen.by_end.erase(seen.by_end.begin());
    }
  }
}

Outcome<void> ProofMemory::admit(const std::string& issuer, const std::string& id,
                                 std::int64_t expires_at, base::WallTime now) {
  MessageNonce nonce = kept(id);
  std::lock_guard lock(mutex_);
  forget(base::jose::numeric_date(now - kProofLeeway));
  if (expires_at < forgotten_) {
    return refuse(Code::kStale, "the forwarding proof is out of its time");
  }
  Seen& seen = nodes_[issuer];
  for (const auto& [end, ids] : seen.by_end) {
    if (ids.contains(nonce, hash_key_)) {
      return refuse(Code::kReplay, "the forwarding proof was used before");
    }
  }
  if (seen.count >= limits_.of_one_node || count_ >= limits_.of_all) return full();
  seen.by_end[expires_at].add(nonce, hash_key_);
  ++seen.count;
  ++count_;
  return {};
}

}  // namespace tool::federation

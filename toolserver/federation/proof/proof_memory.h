#pragma once

// A proof is taken once. What is remembered of each is sixteen bytes, so that
// not the room for them but the signature bounds how many calls a node may
// forward: a node that never pauses is held up above some 7,500 calls a second,
// about as many signatures as one core makes and checks.
// Source: docs/wire-3.0.md, section 18.2.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/core/clock.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/nonce_set.h"

namespace tool::federation {

/// Thread-safe. Empty after a restart: a proof is for one session, and those are
/// gone then.
class ProofMemory {
 public:
  struct Limits {
    std::size_t of_one_node = 262'144;  ///< At most 11 MiB.
    std::size_t of_all = 1'048'576;     ///< At most 43 MiB.
  };

  /// `random` is asked here alone.
  explicit ProofMemory(base::Random& random) : ProofMemory(random, Limits()) {}
  ProofMemory(base::Random& random, Limits limits);

  /// Takes a proof in, once; call it only when everything else of it holds.
  /// `issuer` is a registered node, so there are few.
  /// Errors: E_REPLAY  seen; E_STALE  from a time that is forgotten already;
  ///         E_BUSY  the node's room is full, or that of all.
  [[nodiscard]] Outcome<void> admit(const std::string& issuer, const std::string& id,
                                    std::int64_t expires_at, base::WallTime now);

 private:
  // The ids of one node by the second in which their proofs end. There are no
  // more of them than a proof has seconds to live, so each is asked.
  struct Seen {
    std::map<std::int64_t, NonceSet> by_end;
    std::size_t count = 0;
  };

  void forget(std::int64_t before);

  const Limits limits_;
  NonceSet::Key hash_key_{};
  std::mutex mutex_;
  // Guarded by mutex_ from here on.
  std::map<std::string, Seen, std::less<>> nodes_;
  std::size_t count_ = 0;       // Of all nodes.
  std::int64_t forgotten_ = 0;  // Proofs that ended before are not known any more.
};

}  // namespace tool::federation

#pragma once

// A proof is good once. Those that were taken are remembered until their time is
// over, for each node apart: one that sends many fills its own room alone.
// Source: specification, section 5.2, rule 8; docs/wire-3.0.md, section 18.2.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/core/clock.h"
#include "toolserver/model/fault.h"

namespace tool::federation {

/// Thread-safe. Empty after a restart: a proof is for one session, and those are
/// gone then.
class ProofMemory {
 public:
  static constexpr std::size_t kOfOneNode = 16'384;

  /// Takes a proof in, once; call it only when everything else of it holds.
  /// `issuer` is a registered node, so there are few.
  /// Errors: E_REPLAY  seen; E_STALE  from a time that is forgotten already;
  ///         E_BUSY  the node's room is full.
  [[nodiscard]] Outcome<void> admit(const std::string& issuer, const std::string& id,
                                    std::int64_t expires_at, base::WallTime now);

 private:
  struct Seen {
    std::set<std::string, std::less<>> ids;
    std::set<std::pair<std::int64_t, std::string>> by_end;
  };
  std::mutex mutex_;
  std::map<std::string, Seen, std::less<>> nodes_;
  std::int64_t forgotten_ = 0;  // Proofs that ended before are not known any more.
};

}  // namespace tool::federation

#pragma once

// The steps of a commit, in their order. Whatever happens at one of them, a
// reader sees the state before the commit or the one after it: until kPlanned
// the old one, from kCommitted on the new one. tests/faults stops and kills a
// server at each of them, and takes PostgreSQL and the object store away.

#include <functional>

#include "base/runtime/task.h"

namespace lake::measure {
class WaitMeter;
}

namespace lake::ducklake {

enum class CommitStep {
  kAsked = 1,      ///< The request is understood and allowed; nothing was looked at.
  kPrepared = 2,   ///< Its requirements hold, and the client's files were read.
  kLocked = 3,     ///< The transaction has begun, and the lake's head is ours.
  kPlanned = 4,    ///< All that is to be written is known; none of it was sent.
  kCommitted = 5,  ///< PostgreSQL has committed.
  kPut = 6,        ///< Manifests, their lists and the metadata file are in the object store.
  kAnswered = 7,   ///< Of an append: what follows is behind its answer.
  kRecorded = 8,   ///< The lake knows what was put.
  kCleaned = 9,    ///< What the client wrote and nothing names any more is removed.
};

/// Awaited at each step. The server has none; see ADR 0012.
using StepWatch = std::function<base::Task<void>(CommitStep step)>;

/// Tells the watch, if there is one, and waits for it. The watch outlives it.
[[nodiscard]] inline base::Task<void> reached(const StepWatch* steps, CommitStep step) {
  if (steps != nullptr) co_await (*steps)(step);
}

/// What is told of commits besides their answers. All may be null.
struct CommitWatch {
  const StepWatch* steps = nullptr;
  measure::WaitMeter* meter = nullptr;  ///< Of the waits for another's transaction.
};

}  // namespace lake::ducklake

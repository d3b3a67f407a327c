#pragma once

// What a discovery method is: somebody who is asked where the nodes are, and, where
// the method has it, somebody who is told where this one is.

#include <chrono>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/discovery/found.h"

namespace tool::discovery {

/// Belongs to one event loop; one next() at a time.
class Source {
 public:
  virtual ~Source() = default;

  /// All nodes, as the server has them, or as many as it lets us see: the first time, and
  /// after an error, at once; then when they have changed, or when `longest` has passed.
  /// Runs with throw_if_cancelled(false) in force.
  /// Errors: kUnavailable, kTimeout, kOutcomeUnknown  no answer; kForbidden  our
  ///         credential is refused; kInvalid, kTooLarge  the answer is none;
  ///         kCancelled.
  [[nodiscard]] virtual base::Task<base::Result<Found>> next(base::RequestContext context,
                                                             std::chrono::milliseconds longest) = 0;
};

/// Belongs to one event loop; one call at a time.
class Announcer {
 public:
  virtual ~Announcer() = default;

  /// Says that this node is there, for the lifetime that it was made with. Called
  /// again before that has passed. Errors: as of Source::next().
  [[nodiscard]] virtual base::Task<base::Status> renew(base::RequestContext context) = 0;
  /// Takes it back.
  [[nodiscard]] virtual base::Task<base::Status> withdraw(base::RequestContext context) = 0;
};

/// What this node says of itself.
struct Self {
  std::string node_id;
  std::string endpoint;  ///< wss:// URL, as the others reach it.
  std::chrono::seconds lifetime{30};
};

}  // namespace tool::discovery

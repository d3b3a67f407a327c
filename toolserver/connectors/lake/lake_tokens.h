#pragma once

// The tokens with which this service asks the lake, one for each of its callers. It may never ask
// as a caller alone, nor for another one: for each it signs a statement that names the caller, and
// the lake gives a token in which the caller is the subject and the service the actor, for what
// both may. Sources: RFC 8693, sections 2.1 and 4.1; docs/lake/access.md, "A service asks for its
// callers".

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/secret.h"
#include "base/http/loop_clients.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/connectors/lake/lake_answer.h"
#include "toolserver/connectors/lake/lake_options.h"

namespace tool::lake {

/// Safe to call from any event loop.
class LakeTokens {
 public:
  /// All outlive it.
  LakeTokens(const LakeOptions& options, base::http::LoopClients& clients, const base::Clock& clock,
             base::Random& random)
      : options_(options), clients_(clients), clock_(clock), random_(random) {}

  /// A token for `subject` that is good for a minute at least; kept for less than its life.
  /// Errors: E_POLICY  the lake does not let the service ask for it; E_BUSY, E_UPSTREAM, E_TIMEOUT.
  [[nodiscard]] base::Task<LakeAnswer<base::Secret>> token_for(base::RequestContext context,
                                                               std::string subject);
  /// Drops a token that the lake has refused.
  void forget(const std::string& subject);

 private:
  struct Held {
    base::Secret value;
    base::WallTime until;
  };
  [[nodiscard]] base::Task<LakeAnswer<Held>> ask(base::RequestContext context, std::string form,
                                                 bool as_client);
  [[nodiscard]] base::Task<LakeAnswer<base::Secret>> own(base::RequestContext context);
  [[nodiscard]] base::Task<LakeAnswer<Held>> exchange(base::RequestContext context,
                                                      std::string subject);
  [[nodiscard]] LakeAnswer<std::string> statement_of(const std::string& subject) const;
  [[nodiscard]] std::optional<base::Secret> recall(const std::string& subject);
  void keep(const std::string& subject, Held held);

  const LakeOptions& options_;
  base::http::LoopClients& clients_;
  const base::Clock& clock_;
  base::Random& random_;
  std::mutex mutex_;
  std::map<std::string, Held, std::less<>>
      held_;  ///< By subject; "" is the service's own. Guarded.
};

}  // namespace tool::lake

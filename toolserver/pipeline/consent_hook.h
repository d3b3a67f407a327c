#pragma once

// How a person is asked. Three ways exist: a function of the program that embeds
// the service, a webhook (consent_webhook.h), and the caller's own side
// (mcp_ingress/elicited_consent.h).
// Source: docs/wire-3.0.md, "Consent".

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/model/fault.h"

namespace tool::pipeline {

struct ConsentQuestion {
  std::string request_id;
  std::string session_id;
  std::string principal;
  std::string tool;
  std::string summary;  ///< One sentence for a person.
  /// Every top-level argument as JSON, in canonical order, each value cut by
  /// itself; see consent_question.h.
  std::string args_preview;
  std::string args_hash;       ///< "sha256:<hex>" of all arguments, canonical.
  std::size_t bytes = 0;       ///< Of all arguments, canonical.
  bool truncated = false;      ///< Whether args_preview leaves anything out.
  bool session_scope = false;  ///< Whether an approval may hold for the session.
  std::string_view risk;       ///< "low", "medium" or "high": a hint.
  base::WallTime expires{};
};

enum class ConsentDecision : std::uint8_t {
  kApprove,
  kDeny,
  kTimeout,
  kAsked,  ///< The question is on its way; the call has to be made again with the answer.
};
/// For how long an approval holds.
enum class ConsentScope : std::uint8_t {
  kOnce,
  kSession,   ///< Any call of this tool in this session; kOnce where the tool has no such scope.
  kArgsHash,  ///< The same principal, tool and arguments, in any session.
};

[[nodiscard]] std::string_view name(ConsentScope scope);

struct ConsentAnswer {
  ConsentDecision decision = ConsentDecision::kDeny;
  std::string by;  ///< Who decided, for the audit.
  ConsentScope scope = ConsentScope::kOnce;
};

/// Safe to use from any event loop. Any error means no.
class ConsentHook {
 public:
  virtual ~ConsentHook() = default;
  [[nodiscard]] virtual base::Task<Outcome<ConsentAnswer>> ask(base::RequestContext context,
                                                               ConsentQuestion question) = 0;
};

/// Asks by a function of the embedding program.
class ConsentFunction final : public ConsentHook {
 public:
  using Ask =
      std::function<base::Task<Outcome<ConsentAnswer>>(base::RequestContext, ConsentQuestion)>;
  explicit ConsentFunction(Ask ask) : ask_(std::move(ask)) {}
  [[nodiscard]] base::Task<Outcome<ConsentAnswer>> ask(base::RequestContext context,
                                                       ConsentQuestion question) override {
    return ask_(context, std::move(question));
  }

 private:
  Ask ask_;
};

}  // namespace tool::pipeline

#pragma once

// The places where guards have their say: before a tool runs, and on what it
// gave back. A verdict has three values, and "could not tell" is never taken for
// yes here: a guard that shall fail open says kAllowed itself and gives that as
// its reason.
// Source: docs/wire-3.0.md, "The pipeline".

#include <cstdint>
#include <string>
#include <vector>

#include "base/runtime/task.h"
#include "toolserver/model/capability.h"
#include "toolserver/model/invocation.h"

namespace tool::pipeline {

enum class Verdict : std::uint8_t { kAllowed, kDenied, kCouldNotTell };
enum class ConsentDemand : std::uint8_t {
  kByRule,    ///< The tool's own rule decides.
  kDemanded,  ///< A person must agree to this call.
};

/// Places of a JSON document that nobody shall see, as JSON Pointers (RFC 6901).
struct Redactions {
  std::vector<std::string> arguments;  ///< Of the arguments, in the audit alone.
  std::vector<std::string> result;     ///< Of {content, structured}; see redact.h.
};

struct GuardDecision {
  Verdict verdict = Verdict::kCouldNotTell;
  std::string reason;  ///< For the audit, not for the caller.
  ConsentDemand consent = ConsentDemand::kByRule;
  std::string told{};  ///< Of a denial, for the caller: words that give no rule away.
  Redactions redact{};
};

/// What a guard says of an answer. The answer comes back as it may go on.
struct OutputDecision {
  Verdict verdict = Verdict::kCouldNotTell;
  std::string reason;  ///< For the audit; empty when there is nothing to say.
  std::string told{};
  ToolResult result{};
  std::uint64_t redactions = 0;
};

/// Safe to use from any event loop. `call` and `capability` outlive the wait.
class GuardStage {
 public:
  virtual ~GuardStage() = default;
  [[nodiscard]] virtual base::Task<GuardDecision> judge(const Invocation& call,
                                                        const Capability& capability) = 0;
  /// Of what the tool gave back; a guard that has no word on it lets it pass.
  [[nodiscard]] virtual base::Task<OutputDecision> inspect(const Invocation& /*call*/,
                                                           const Capability& /*capability*/,
                                                           ToolResult result) {
    OutputDecision decision;
    decision.verdict = Verdict::kAllowed;
    decision.result = std::move(result);
    co_return decision;
  }
};

}  // namespace tool::pipeline

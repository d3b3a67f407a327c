#pragma once

// The place where a policy engine has its say. Its verdict has three values,
// and "could not tell" is never taken for yes here: a guard that shall fail
// open says kAllowed itself and gives that as its reason.

#include <cstdint>
#include <string>

#include "base/runtime/task.h"
#include "toolserver/model/capability.h"
#include "toolserver/model/invocation.h"

namespace tool::pipeline {

enum class Verdict : std::uint8_t { kAllowed, kDenied, kCouldNotTell };
enum class ConsentDemand : std::uint8_t {
  kByRule,    ///< The tool's own rule decides.
  kDemanded,  ///< A person must agree to this call.
};

struct GuardDecision {
  Verdict verdict = Verdict::kCouldNotTell;
  std::string reason;  ///< For the audit, not for the caller.
  ConsentDemand consent = ConsentDemand::kByRule;
};

/// Safe to use from any event loop. `call` and `capability` outlive the wait.
class GuardStage {
 public:
  virtual ~GuardStage() = default;
  [[nodiscard]] virtual base::Task<GuardDecision> judge(const Invocation& call,
                                                        const Capability& capability) = 0;
};

}  // namespace tool::pipeline

#pragma once

// The policy engine's place in the pipeline: Open Policy Agent over HTTP. What a
// caller can bring about (a question too long, too slow, or one that the engine
// stumbles over) is always a no; only that nobody could be asked may, where the
// configuration says so, be a yes.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "toolserver/guard/breaker.h"
#include "toolserver/guard/decision_cache.h"
#include "toolserver/guard/policy.h"
#include "toolserver/guard/quarantine.h"
#include "toolserver/pipeline/guard.h"
#include "toolserver/pipeline/webhook.h"

namespace tool::guard {

enum class PolicyFailure : std::uint8_t {
  kClosed,  ///< Without an answer nothing is allowed.
  kOpen,    ///< It is, if no connection to the engine could be made.
};

struct PolicyOptions {
  std::string url;  ///< Of the engine, without a path: "http://127.0.0.1:8181".
  std::chrono::milliseconds timeout{250};
  PolicyFailure failure = PolicyFailure::kClosed;
  std::size_t question_bytes = 4 << 20;  ///< A longer one is denied.
  std::size_t answer_bytes = 64 << 10;
  std::chrono::milliseconds cache_time{2'000};
  std::size_t cache_entries = 4'096;
  base::Secret bearer;
  std::string ca_file;
};

/// Safe to use from any event loop. Destroy it as a Webhook.
class PolicyGuard final : public pipeline::GuardStage {
 public:
  /// The quarantine outlives the guard.
  /// Errors: as pipeline::Webhook::create().
  [[nodiscard]] static base::Result<std::shared_ptr<PolicyGuard>> create(PolicyOptions options,
                                                                         Quarantine& quarantine);

  /// Asks in phase pre, or remembers.
  [[nodiscard]] base::Task<pipeline::GuardDecision> judge(const Invocation& call,
                                                          const Capability& capability) override;
  /// Asks in phase post, each time. Consent is a no here: the tool has run.
  [[nodiscard]] base::Task<pipeline::OutputDecision> inspect(const Invocation& call,
                                                             const Capability& capability,
                                                             ToolResult result) override;

 private:
  /// What became of a question.
  struct Asked {
    enum class State : std::uint8_t {
      kAnswered,
      kTooLong,      // The question. The caller's doing.
      kUnclear,      // No answer in time, or none that can be read.
      kUnreachable,  // Nobody was asked.
    } state = State::kUnclear;
    PolicyAnswer answer;
    std::string why;
  };
  PolicyGuard(PolicyOptions options, std::unique_ptr<pipeline::Webhook> engine,
              Quarantine& quarantine);
  base::Task<Asked> ask(const Invocation& call, base::json::Object question);
  base::Task<base::Result<base::json::Object>> post(const Invocation& call,
                                                    base::json::Object question);
  /// The verdict of what was asked, its reason, and what the caller is told.
  struct Ruling {
    pipeline::Verdict verdict = pipeline::Verdict::kCouldNotTell;
    std::string reason;
    std::string told;
  };
  Ruling rule(const Invocation& call, const Asked& asked);

  const PolicyOptions options_;
  const std::unique_ptr<pipeline::Webhook> engine_;
  Quarantine& quarantine_;
  CircuitBreaker breaker_;
  DecisionCache cache_;
};

}  // namespace tool::guard

#pragma once

// The local fast path: rules over every text of a call and of its answer, in
// this process, without asking anybody.

#include <memory>

#include "toolserver/guard/rule_set.h"
#include "toolserver/pipeline/guard.h"

namespace tool::guard {

/// Safe to use from any event loop. What is too long or takes too long to be
/// read through is denied: a caller chooses both.
class RulesGuard final : public pipeline::GuardStage {
 public:
  /// `rules` is not null.
  RulesGuard(std::shared_ptr<const RuleSet> rules, ScanLimits limits)
      : rules_(std::move(rules)), limits_(limits) {}

  /// Looks at every text, name and number of the arguments.
  [[nodiscard]] base::Task<pipeline::GuardDecision> judge(const Invocation& call,
                                                          const Capability& capability) override;
  /// Looks at every part of the content, bytes too, and at `structured`. What
  /// cannot be taken out (bytes, a member's name) is withheld as a whole.
  [[nodiscard]] base::Task<pipeline::OutputDecision> inspect(const Invocation& call,
                                                             const Capability& capability,
                                                             ToolResult result) override;

 private:
  const std::shared_ptr<const RuleSet> rules_;
  const ScanLimits limits_;
};

/// Whether no rule about descriptions matches what a tool says of itself: title,
/// description and the words of its schemas. For pipeline::ToolRegistry.
[[nodiscard]] bool passes_screen(const RuleSet& rules, const Capability& capability,
                                 const ScanLimits& limits);

}  // namespace tool::guard

#pragma once

// From the settings to the judges of calls and answers.

#include <chrono>
#include <memory>

#include "base/core/result.h"
#include "toolserver/guard/quarantine.h"
#include "toolserver/guard/rule_set.h"
#include "toolserver/pipeline/guard.h"
#include "toolserver/settings/secure_config.h"

namespace tool::app {

/// The rules of the configuration; null when it has none.
/// Errors: kInvalid  a key, signature, file or rule that cannot be used.
[[nodiscard]] base::Result<std::shared_ptr<const guard::RuleSet>> guard_rules(
    const settings::Guard& guard);

[[nodiscard]] guard::ScanLimits scan_limits(const settings::Guard& guard);

/// What asks the policy engine; null when there is none. The quarantine outlives
/// it. Errors: kInvalid, kForbidden  an address that cannot be used.
[[nodiscard]] base::Result<std::shared_ptr<pipeline::GuardStage>> policy_guard(
    const settings::Guard& guard, guard::Quarantine& quarantine);

/// Of a guard in the pipeline: its own limits end it before.
[[nodiscard]] std::chrono::milliseconds guard_time(const settings::SecureConfig& config);

}  // namespace tool::app

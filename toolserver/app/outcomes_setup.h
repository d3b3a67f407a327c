#pragma once

// The store of outcomes as the configuration wants it, with what the trail says
// of calls that an earlier process began.

#include "base/core/clock.h"
#include "toolserver/outcomes/outcome_store.h"
#include "toolserver/settings/secure_config.h"

namespace tool::app {

/// For the start, once the trail is open. Blocks. `clock` outlives the store.
/// Errors: those of OutcomeStore::open() and audit::past_calls().
[[nodiscard]] base::Result<std::unique_ptr<outcomes::OutcomeStore>> open_outcomes(
    const settings::SecureConfig& config, const base::Clock& clock);

}  // namespace tool::app

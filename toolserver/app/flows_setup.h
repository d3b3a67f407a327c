#pragma once

// Workflows as the configuration wants them.

#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "toolserver/settings/secure_config.h"
#include "toolserver/workflow/flow_tools.h"
#include "toolserver/workflow/flows.h"
#include "toolserver/workflow/run_store.h"

namespace tool::app {

[[nodiscard]] workflow::FlowOptions flow_options(const settings::SecureConfig& config);

/// For the start, once the trail is open. Blocks. `clock` outlives the store.
/// Errors: those of RunStore::open().
[[nodiscard]] base::Result<std::unique_ptr<workflow::RunStore>> open_runs(
    const settings::SecureConfig& config, const base::Clock& clock);

/// Those of workflows.folder; none where it is not set.
/// Errors: kInvalid  "workflows.folder: FILE: rule".
[[nodiscard]] base::Result<std::vector<workflow::NamedWorkflow>> configured_workflows(
    const settings::SecureConfig& config);

}  // namespace tool::app

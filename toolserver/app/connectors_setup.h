#pragma once

// Which tools a configuration offers.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/runtime/workers.h"
#include "toolserver/connectors/connector.h"
#include "toolserver/settings/settings.h"

namespace tool::app {

/// The connectors that are enabled, and the tools of the configuration. `pool` and `random` outlive
/// them. Errors: kInvalid  an option of a connector; kInternal  the engine does not
///         start.
[[nodiscard]] base::Result<std::vector<std::shared_ptr<connectors::Connector>>> open_connectors(
    const settings::SecureConfig& config, base::BlockingPool& pool, base::Random& random);

/// "tools.NAME: rule" for each schema of the configuration's tools that cannot
/// be used. What such a tool says of itself is checked with the rest.
[[nodiscard]] std::vector<std::string> schema_faults(const settings::SecureConfig& config);

}  // namespace tool::app

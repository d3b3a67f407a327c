#pragma once

// Which tools a configuration offers.

#include <filesystem>
#include <memory>
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

}  // namespace tool::app

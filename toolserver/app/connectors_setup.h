#pragma once

// Which tools a configuration offers.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/runtime/workers.h"
#include "toolserver/connectors/connector.h"
#include "toolserver/isolate/part_client.h"
#include "toolserver/settings/settings.h"

namespace tool::app {

/// Shows what becomes of the processes behind walls. Safe from any thread.
class WallWatch {
 public:
  WallWatch(base::log::Logger log, base::metrics::Registry& metrics);
  /// `connector` is a literal, such as "sql".
  void show(std::string_view connector, const isolate::PartEvent& event);

 private:
  base::log::Logger log_;
  base::metrics::Registry& metrics_;
};

/// The connectors that are enabled, and the tools of the configuration. `pool`, `clock`, `random`
/// and `walls` outlive them. main() has begun with run_if_child().
/// Errors: kInvalid  an option of a connector; kUnsupported  a wall is demanded
///         that the kernel lacks; kInternal  the engine does not start.
[[nodiscard]] base::Result<std::vector<std::shared_ptr<connectors::Connector>>> open_connectors(
    const settings::SecureConfig& config, base::BlockingPool& pool, const base::Clock& clock,
    base::Random& random, WallWatch& walls);

/// "tools.NAME: rule" for each schema of the configuration's tools that cannot
/// be used, and "workflows.folder: FILE: rule" for a workflow that cannot. What such a tool says of
/// itself is checked with the rest.
[[nodiscard]] std::vector<std::string> schema_faults(const settings::SecureConfig& config);

}  // namespace tool::app

#pragma once

#include "lakeproxy/settings/settings.h"

namespace lake::app {

/// Serves until SIGINT or SIGTERM, then finishes what is in flight. Returns the
/// process's exit code; start-up faults are one line on stderr each.
[[nodiscard]] int serve(const settings::Settings& settings);

/// Tries each connection that the settings name and says in one line how it
/// went. Returns the process's exit code.
[[nodiscard]] int check(const settings::Settings& settings);

}  // namespace lake::app

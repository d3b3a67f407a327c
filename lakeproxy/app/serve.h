#pragma once

#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/settings/settings.h"

namespace lake::app {

/// Serves until SIGINT or SIGTERM, then finishes what is in flight. Returns the
/// process's exit code; start-up faults are one line on stderr each. `steps` is
/// told how far each commit has come; only a test has any use for that.
[[nodiscard]] int serve(const settings::Settings& settings,
                        const ducklake::StepWatch* steps = nullptr);

/// Tries each connection that the settings name and says in one line how it
/// went. Returns the process's exit code.
[[nodiscard]] int check(const settings::Settings& settings);

}  // namespace lake::app

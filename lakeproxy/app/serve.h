#pragma once

#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/engine/files/engine_pool.h"
#include "lakeproxy/maintenance/compaction/compactor.h"
#include "lakeproxy/settings/settings.h"

namespace lake::app {

/// Each may be null; they outlive the server.
struct StepWatches {
  const ducklake::StepWatch* commits = nullptr;
  const exporter::CompactionWatch* compactions = nullptr;
  const exporter::EngineWatch* engine_jobs = nullptr;
};

/// Serves until SIGINT or SIGTERM, then finishes what is in flight. Returns the
/// process's exit code; start-up faults are one line on stderr each. `watches`
/// are told how far each commit and compaction has come, and of each job of the engine; only a
/// test has any use for that.
[[nodiscard]] int serve(const settings::Settings& settings, StepWatches watches = {});

/// Tries each connection that the settings name and says in one line how it
/// went. Returns the process's exit code.
[[nodiscard]] int check(const settings::Settings& settings);

}  // namespace lake::app

#pragma once

// lakeproxy gc: finds what is left in the bucket and nothing needs, and removes it.

#include <string>

#include "lakeproxy/settings/settings.h"

namespace lake::app {

struct GcOptions {
  bool dry_run = false;
  bool json = false;
  std::string older_than;  ///< Seconds, or a number with s, m, h or d.
  std::string catalog;     ///< Empty for the default one.
};

/// Returns the process's exit code: 0 done; 1 something failed or could not be
/// removed; 2 an option is wrong.
[[nodiscard]] int gc(const settings::Settings& settings, const GcOptions& options);

}  // namespace lake::app

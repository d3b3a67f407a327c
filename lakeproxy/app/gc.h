#pragma once

// lakeproxy gc: finds what is left in the bucket and nothing needs, and removes it
// when asked to.

#include <string>

#include "lakeproxy/settings/settings.h"

namespace lake::app {

enum class GcWork {
  kShow,
  kRemove,
  kTakeOver,  ///< Only makes this database the owner of the prefix.
};

struct GcOptions {
  GcWork work = GcWork::kShow;
  bool json = false;
  std::string older_than;  ///< Seconds, or a number with s, m, h or d.
  std::string catalog;     ///< Empty for the default one.
};

/// Returns the process's exit code: 0 done; 1 something failed or could not be
/// removed; 2 an option is wrong.
[[nodiscard]] int gc(const settings::Settings& settings, const GcOptions& options);

}  // namespace lake::app

#pragma once

// A service that protects others must not start with a hole in it. The table
// behind make_table() is the one place that names a setting, its default and
// its range (docs/tool-configuration.md is made from it); load() reads all
// sources, and answers with a configuration that is safe as a whole or with
// everything that is wrong.

#include <string>
#include <vector>

#include "base/config/settings_table.h"
#include "base/core/result.h"
#include "toolserver/settings/secure_config.h"

namespace tool::settings {

/// All settings, with the prefix SCP_.
[[nodiscard]] base::config::SettingsTable make_table();

/// Every setting at its default. It has no secrets, so validate() refuses it.
[[nodiscard]] SecureConfig defaults();

/// A configuration, and what its text was and where it came from (for
/// base::config::show_settings and the writers).
struct Loaded {
  SecureConfig config;
  base::config::SettingValues values;
};

/// Reads the command line ("SCP_NAME=value", --config as SCP_CONFIG_FILE), the
/// environment, .env and the file, and validates the whole for `role`.
/// Reads files; called at start.
/// Errors: kInvalid  one line for each fault, "source: setting: rule", to be
///         shown as it is; never a value.
/// Source: docs/tool-configuration.md.
[[nodiscard]] base::Result<Loaded> load(const base::config::Places& places, Role role);

/// What `securetool config check` prints when all is well: one line for what
/// the configuration turns on and with what protection. No secrets.
[[nodiscard]] std::string describe(const SecureConfig& config, Role role);

/// What `securetool config show` prints: "SCP_NAME=value (source)", secrets as
/// "***".
[[nodiscard]] std::string show(const Loaded& loaded);

/// docs/tool-configuration.md.
[[nodiscard]] std::string markdown();

struct Reloaded {
  SecureConfig config;                     ///< To put in force now.
  std::vector<std::string> changed;        ///< Names of settings in force from now on.
  std::vector<std::string> needs_restart;  ///< Changed, and kept at the old value in `config`.
};

/// Loads again; all or nothing. Settings that cannot change in a running
/// process keep the value of `current` and are named. Reads files.
/// Errors: kInvalid  as load(): the new configuration is refused, or what
///         would be in force until a restart does not validate; `current`
///         stays in force.
[[nodiscard]] base::Result<Reloaded> reload(const SecureConfig& current,
                                            const base::config::Places& places, Role role);

}  // namespace tool::settings

#pragma once

// A configuration moves from one form to another (a deployment of variables
// becomes a file) without a setting lost: what these write, load() reads back
// to the same values.

#include <string>

#include "base/config/settings_table.h"

namespace base::config {

enum class Secrets { kInClear, kLeftOut };

/// The settings that are not at their default, in the order of the table; of
/// a nested table. CONFIG_FILE is never written.
[[nodiscard]] std::string to_toml(const SettingsTable& table, const SettingValues& values,
                                  Secrets secrets);
[[nodiscard]] std::string to_yaml(const SettingsTable& table, const SettingValues& values,
                                  Secrets secrets);

/// Errors: kUnsupported  a value has both kinds of quotes, which a line of
///         this form cannot carry; the message names the setting.
[[nodiscard]] Result<std::string> to_env(const SettingsTable& table, const SettingValues& values,
                                         Secrets secrets);

}  // namespace base::config

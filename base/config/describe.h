#pragma once

// The documentation of the settings and the answer to "what is in force" come
// from the table itself, so neither can be out of date.

#include <string>

#include "base/config/settings_table.h"

namespace base::config {

/// A Markdown page: one table for each section, in the order of the table.
[[nodiscard]] std::string settings_markdown(const SettingsTable& table, std::string_view title);

/// One line for each setting: "NAME=value (source)". A secret shows as "***"
/// when it is set and as nothing when it is empty.
[[nodiscard]] std::string show_settings(const SettingsTable& table, const SettingValues& values);

}  // namespace base::config

#pragma once

// One table names every setting of a product. Loading it asks all sources in
// their order of precedence, refuses what the table does not know (a typing
// error in a security setting must not leave the default in force), and
// reports all faults at once, so that a start is not repaired line by line.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/setting.h"
#include "base/config/sources.h"
#include "base/core/result.h"

namespace base::config {

/// Immutable after construction.
class SettingsTable {
 public:
  /// `prefix` is the product's, with '_' at its end: "LAKES_". The setting
  /// CONFIG_FILE is added at the end. Aborts on two settings of one name and
  /// on a default that breaks its own rule.
  SettingsTable(std::string prefix, std::vector<Setting> settings);

  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] const std::vector<Setting>& settings() const { return settings_; }
  /// `name` without the prefix; null when there is none.
  [[nodiscard]] const Setting* find(std::string_view name) const;
  /// The known name, without prefix, that takes the fewest edits to reach.
  [[nodiscard]] std::string_view nearest(std::string_view name) const;
  /// "lakes.toml" for the prefix "LAKES_".
  [[nodiscard]] std::string default_file() const;

 private:
  std::string prefix_;
  std::vector<Setting> settings_;
};

/// Where the settings come from, first one strongest: overrides (the command
/// line), environment, `folder`/.env, then the TOML file.
struct Places {
  std::vector<std::string> overrides;    ///< "NAME=value", prefix and all.
  std::vector<std::string> environment;  ///< "NAME=value" of the process.
  std::filesystem::path folder;          ///< The working directory.
};

/// The environment of this process.
[[nodiscard]] std::vector<std::string> process_environment();

/// A typed value for each setting of a table. Asking for a name that the table
/// does not have, or as another type, aborts. Names are without the prefix.
class SettingValues {
 public:
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::chrono::microseconds duration(std::string_view name) const;
  [[nodiscard]] Bytes bytes(std::string_view name) const;
  [[nodiscard]] const Secret& secret(std::string_view name) const;
  /// Where the value came from; "default" when no source named it.
  [[nodiscard]] const std::string& source(std::string_view name) const;
  [[nodiscard]] bool is_default(std::string_view name) const { return source(name) == "default"; }

 private:
  friend Result<SettingValues> load(const SettingsTable&, const Places&);
  struct Held {
    SettingValue value;
    std::string source;
  };
  [[nodiscard]] const Held& held(std::string_view name) const;
  std::map<std::string, Held, std::less<>> values_;
};

/// Reads every source and checks every entry. A file that is not there is
/// empty, unless CONFIG_FILE names it.
/// Errors: kInvalid  one line for each fault: "source: SETTING: rule".
[[nodiscard]] Result<SettingValues> load(const SettingsTable& table, const Places& places);

}  // namespace base::config

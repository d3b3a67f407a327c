#pragma once

// One table names every setting of a product. Loading it asks all sources in
// their order of precedence, refuses what the table does not know (a typing
// error in a security setting must not leave the default in force), and
// reports all faults at once, so that a start is not repaired line by line.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/setting.h"
#include "base/config/sources.h"
#include "base/core/result.h"

namespace base::config {

/// Whether a file is refused for who may read or write it.
enum class FileAccess {
  kUnchecked,
  /// Files must be this user's or root's and closed to writers of group and
  /// others; one that holds a secret is closed to readers too.
  kChecked
};

/// How a product's settings are laid out in files.
/// kFlat: one TOML file with one level of sections.
/// kNested: every setting has a path. A TOML, YAML or ENV file with sections
/// in sections; lists; and for each secret NAME also NAME_FILE, the file that
/// holds it.
struct TableForm {
  Nesting nesting = Nesting::kFlat;
  std::string file_stem;  ///< "lakes" for lakes.toml; the prefix in small letters when empty.
  /// kNested: the section whose settings stand at the top: "core" lets
  /// core.mode and CORE_MODE mean the setting "mode".
  std::string root_section;
  FileAccess access = FileAccess::kUnchecked;
  /// Sections of a TOML file whose keys are the user's own names and no
  /// settings; the product reads them from LoadReport::open.
  std::vector<std::string> open_sections = {};
};

/// Immutable after construction.
class SettingsTable {
 public:
  /// `prefix` is the product's, with '_' at its end: "LAKES_". The setting
  /// CONFIG_FILE is added at the end. Aborts on two settings of one name, on a
  /// default that breaks its own rule and, in a nested table, on a name that
  /// is not its path's.
  SettingsTable(std::string prefix, std::vector<Setting> settings, TableForm form = {});

  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] const std::vector<Setting>& settings() const { return settings_; }
  /// `name` without the prefix; null when there is none.
  [[nodiscard]] const Setting* find(std::string_view name) const;
  /// The known name, without prefix, that takes the fewest edits to reach.
  [[nodiscard]] std::string_view nearest(std::string_view name) const;
  /// The same among the paths of a nested table.
  [[nodiscard]] std::string_view nearest_path(std::string_view path) const;
  [[nodiscard]] const TableForm& form() const { return form_; }
  [[nodiscard]] bool is_nested() const { return form_.nesting == Nesting::kNested; }
  /// The files of the working directory that are looked for: "lakes.toml" for
  /// the prefix "LAKES_"; a nested table's also as .yaml and .yml.
  [[nodiscard]] std::vector<std::string> default_files() const;

 private:
  std::string prefix_;
  std::vector<Setting> settings_;
  TableForm form_;
};

/// Where the settings come from, first one strongest: overrides (the command
/// line), environment, `folder`/.env, then the file.
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
  [[nodiscard]] const std::vector<std::string>& list(std::string_view name) const;
  /// Of any type.
  [[nodiscard]] const SettingValue& value(std::string_view name) const { return held(name).value; }
  /// Where the value came from; "default" when no source named it.
  [[nodiscard]] const std::string& source(std::string_view name) const;
  [[nodiscard]] bool is_default(std::string_view name) const { return source(name) == "default"; }

 private:
  friend struct LoadReport read(const SettingsTable&, const Places&);
  struct Held {
    SettingValue value;
    std::string source;
  };
  [[nodiscard]] const Held& held(std::string_view name) const;
  std::map<std::string, Held, std::less<>> values_;
};

/// What the sources gave, faults and all: for a caller that has faults of its
/// own to add before it shows them.
struct LoadReport {
  SettingValues values;                         ///< A setting with a fault has its default.
  std::vector<std::string> errors;              ///< "source: SETTING: rule".
  std::set<std::string, std::less<>> in_doubt;  ///< Names of settings that an error is about.
  bool file_found = false;  ///< CONFIG_FILE, one of the default files, or .env is there.
  bool unreadable = false;  ///< A whole source was refused; any setting may have stood there.
  std::vector<std::filesystem::path> files;  ///< That were named: configuration, .env, secrets.
  json::Object open;        ///< The open sections that are there, by name; see TableForm.
  std::string open_source;  ///< The file they stood in: "lakes.toml".
};

/// Reads every source and checks every entry. A file that is not there is
/// empty, unless CONFIG_FILE names it. A secret's file must be regular, of at
/// most 8 KiB, this user's or root's, and closed to group and others; one line
/// end at its end is left off.
[[nodiscard]] LoadReport read(const SettingsTable& table, const Places& places);

/// Errors: kInvalid  one line for each fault of read().
[[nodiscard]] Result<SettingValues> load(const SettingsTable& table, const Places& places);

/// Lines of faults as one error. Aborts when there is none.
[[nodiscard]] Error faults_error(const std::vector<std::string>& lines);

}  // namespace base::config

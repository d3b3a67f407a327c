#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/config/file_text.h"
#include "base/config/settings_table.h"

namespace base::config {
namespace {

constexpr std::string_view kConfigFile = "CONFIG_FILE";
constexpr std::string_view kFileSuffix = "_FILE";
constexpr std::size_t kMaxErrors = 100;

// The setting that an entry is for.
struct Target {
  const Setting* setting = nullptr;
  enum class Holds { kValue, kNameOfFile } holds = Holds::kValue;
};

// Takes entries from the strongest source to the weakest. The first text for a
// setting stands; the texts below it are checked all the same.
class Loader {
 public:
  Loader(const SettingsTable& table, const Places& places) : table_(table), places_(places) {}

  struct Taken {
    SettingValue value;
    std::string source;
  };

  void take(const Entries& source) {
    for (const auto& error : source.errors) report(error);
    unreadable_ = unreadable_ || source.unreadable;
    std::set<std::string, std::less<>> seen;
    for (const auto& entry : source.entries) {
      Target target = target_of(entry);
      const std::string& name = target.setting == nullptr ? entry.key : target.setting->name;
      if (!seen.insert(name).second) {
        report(entry, target, "is set a second time in this source");
      } else if (target.setting != nullptr) {
        take_entry(entry, target);
      } else if (entry.form != EntryForm::kEmpty || !is_section(entry)) {
        report_unknown(entry);
      }
    }
  }

  void report(std::string line) {
    if (errors_.size() < kMaxErrors) errors_.push_back(std::move(line));
  }
  void report_unreadable(std::string line) {
    unreadable_ = true;
    report(std::move(line));
  }

  /// Whether the text itself is a secret, and not the name of its file.
  [[nodiscard]] bool holds_secret(const Entry& entry) const {
    Target target = target_of(entry);
    return target.setting != nullptr && target.holds == Target::Holds::kValue &&
           std::holds_alternative<SecretType>(target.setting->type) && !entry.text.empty();
  }
  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }
  [[nodiscard]] const std::set<std::string, std::less<>>& in_doubt() const { return in_doubt_; }
  [[nodiscard]] bool unreadable() const { return unreadable_; }
  void note_file(const std::filesystem::path& name) {
    file_found_ = true;
    files_.push_back(places_.folder / name);
  }
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }
  [[nodiscard]] bool file_found() const { return file_found_; }
  void keep_open(json::Object sections, std::string source) {
    open_ = std::move(sections);
    open_source_ = std::move(source);
  }
  [[nodiscard]] const json::Object& open() const { return open_; }
  [[nodiscard]] const std::string& open_source() const { return open_source_; }
  std::map<std::string, Taken, std::less<>>& taken() { return taken_; }
  [[nodiscard]] const SettingsTable& table() const { return table_; }
  [[nodiscard]] const Places& places() const { return places_; }

 private:
  [[nodiscard]] Target target_of(const Entry& entry) const {
    std::string_view name = std::string_view(entry.key).substr(table_.prefix().size());
    Target found = target_of_name(name, entry.path);
    std::string_view root = table_.form().root_section;
    if (found.setting != nullptr || root.empty()) return found;
    if (!name.starts_with(name_of_path(root) + "_")) return found;
    std::string_view path = entry.path;
    if (!path.empty()) path.remove_prefix(std::min(path.size(), root.size() + 1));
    found = target_of_name(name.substr(root.size() + 1), path);
    bool is_top = found.setting != nullptr && !found.setting->path.contains('.');
    return is_top ? found : Target{};
  }

  // Two paths may have one name ("a.b_c", "a_b.c"): in a file the path decides.
  [[nodiscard]] Target target_of_name(std::string_view name, std::string_view path) const {
    if (const Setting* setting = table_.find(name)) {
      bool is_it = !table_.is_nested() || path.empty() || path == setting->path;
      return is_it ? Target{setting} : Target{};
    }
    if (!table_.is_nested() || !name.ends_with(kFileSuffix)) return {};
    const Setting* setting = table_.find(name.substr(0, name.size() - kFileSuffix.size()));
    if (setting == nullptr || !std::holds_alternative<SecretType>(setting->type)) return {};
    if (!path.empty() && path != std::string(setting->path) + "_file") return {};
    return {setting, Target::Holds::kNameOfFile};
  }

  // "security:" with nothing below it.
  [[nodiscard]] bool is_section(const Entry& entry) const {
    std::string begin = entry.path + ".";
    return entry.path == table_.form().root_section ||
           std::ranges::any_of(table_.settings(),
                               [&](const Setting& s) { return s.path.starts_with(begin); });
  }

  void take_entry(const Entry& entry, const Target& target) {
    bool takes_lists = std::holds_alternative<ListType>(target.setting->type);
    if (entry.form == EntryForm::kEmpty) {
      report(entry, target, "must have a value");
      return;
    }
    if (entry.form == EntryForm::kList && !takes_lists) {
      report(entry, target, "must be a string, a number or a boolean");
      return;
    }
    auto value = target.holds == Target::Holds::kValue
                     ? parse_setting(*target.setting, entry.text)
                     : parse_secret_file(*target.setting, entry.text);
    if (!value) {
      report(entry, target, value.error().message());
      return;
    }
    taken_.try_emplace(target.setting->name, Taken{std::move(*value), entry.source});
  }

  [[nodiscard]] Result<SettingValue> parse_secret_file(const Setting& setting,
                                                       std::string_view path) {
    if (path.empty() || path.contains('\0')) return fail(ErrorKind::kInvalid, "must name a file");
    files_.push_back(places_.folder / path);
    ASSIGN_OR_RETURN(auto text, read_secret_file(places_.folder / path));
    return parse_setting(setting, text);
  }

  void report(const Entry& entry, const Target& target, std::string_view rule) {
    if (target.setting != nullptr) in_doubt_.insert(target.setting->name);
    // A file of sections has named the setting in the source already.
    bool named = table_.is_nested() && !entry.path.empty();
    report(named ? fmt::format("{}: {}", entry.source, rule)
                 : fmt::format("{}: {}: {}", entry.source, entry.key, rule));
  }

  void report_unknown(const Entry& entry) {
    const auto& open = table_.form().open_sections;
    std::string_view section = std::string_view(entry.path).substr(0, entry.path.find('.'));
    if (section != entry.path && std::ranges::find(open, section) != open.end()) {
      report(fmt::format("{}: the section {} stands in a TOML file", entry.source, section));
      return;
    }
    std::string_view name = std::string_view(entry.key).substr(table_.prefix().size());
    if (table_.is_nested() && !entry.path.empty()) {
      report(fmt::format("{}: no such setting; the nearest is {}", entry.source,
                         table_.nearest_path(entry.path)));
    } else {
      report(fmt::format("{}: {}: no such setting; the nearest is {}{}", entry.source, entry.key,
                         table_.prefix(), table_.nearest(name)));
    }
  }

  const SettingsTable& table_;
  const Places& places_;
  std::vector<std::string> errors_;
  std::set<std::string, std::less<>> in_doubt_;
  bool unreadable_ = false;
  bool file_found_ = false;
  std::vector<std::filesystem::path> files_;
  std::map<std::string, Taken, std::less<>> taken_;
  json::Object open_;
  std::string open_source_;
};

// A file that others may write decides nothing, and one that others may read
// gives no secret away. What such a file says is not looked at any further.
bool check_access(Loader& loader, const FileText& file, const Entries& entries,
                  std::string_view name) {
  if (loader.table().form().access == FileAccess::kUnchecked) return true;
  if (auto rule = write_access_rule(file); !rule.empty()) {
    loader.report_unreadable(fmt::format("{}: {}", name, rule));
    return false;
  }
  auto rule = secret_access_rule(file);
  if (rule.empty()) return true;
  for (const auto& entry : entries.entries) {
    if (!loader.holds_secret(entry)) continue;
    loader.report_unreadable(fmt::format("{}: holds a secret ({}) and {}", name, entry.key, rule));
    return false;
  }
  return true;
}

void take_overrides(Loader& loader) {
  const std::string& prefix = loader.table().prefix();
  Entries entries = from_environment(loader.places().overrides, prefix);
  for (auto& entry : entries.entries) entry.source = "command line";
  for (std::string_view text : loader.places().overrides) {
    if (!text.starts_with(prefix) || text.find('=') == std::string_view::npos) {
      entries.errors.push_back(fmt::format("command line: {}: must have the form {}NAME=value",
                                           shown_key(text.substr(0, text.find('='))), prefix));
    }
  }
  loader.take(entries);
}

void take_dotenv(Loader& loader) {
  FileText file = read_file(loader.places().folder / ".env");
  if (file.state == FileText::State::kRefused) {
    loader.report_unreadable(".env: must be a readable file of at most 1 MiB");
  }
  Entries entries = from_dotenv(file.text, loader.table().prefix(), ".env");
  bool is_there = file.state == FileText::State::kRead;
  if (is_there) loader.note_file(".env");
  if (!is_there || check_access(loader, file, entries, ".env")) loader.take(entries);
}

// A file of lines that is the product's own: every name is one of ours.
Entries from_env_file(std::string_view text, std::string_view prefix, std::string_view file) {
  Entries entries = from_dotenv(text, "", file);
  std::erase_if(entries.entries, [&](const Entry& entry) {
    if (entry.key.starts_with(prefix)) return false;
    entries.errors.push_back(fmt::format("{}: {}: no such setting; every name begins with {}",
                                         entry.source, entry.key, prefix));
    return true;
  });
  return entries;
}

Entries parse_file(const SettingsTable& table, std::string_view text, const std::string& name) {
  std::string shown = std::filesystem::path(name).filename().string();
  if (!table.is_nested() || shown.ends_with(".toml")) {
    return from_toml(text, table.prefix(), shown, table.form().nesting, table.form().open_sections);
  }
  if (shown.ends_with(".yaml") || shown.ends_with(".yml")) {
    return from_yaml(text, table.prefix(), shown);
  }
  if (shown.ends_with(".env")) return from_env_file(text, table.prefix(), shown);
  return {{}, {fmt::format("{}: the name must end with .toml, .yaml, .yml or .env", shown)}, true};
}

// The file of the working directory; the first name when there is none.
std::string file_of_folder(Loader& loader) {
  std::vector<std::string> there;
  auto names = loader.table().default_files();
  for (const auto& name : names) {
    if (read_file(loader.places().folder / name).state != FileText::State::kMissing) {
      there.push_back(name);
    }
  }
  if (there.size() > 1) {
    loader.report(fmt::format("{}: only one of {} may be there", there[1], fmt::join(there, ", ")));
  }
  return there.empty() ? names.front() : there.front();
}

void take_file(Loader& loader) {
  const SettingsTable& table = loader.table();
  auto named = loader.taken().find(kConfigFile);
  bool is_named =
      named != loader.taken().end() && !std::get<std::string>(named->second.value).empty();
  std::string name = is_named ? std::get<std::string>(named->second.value) : file_of_folder(loader);
  FileText file = read_file(loader.places().folder / name);
  if (file.state == FileText::State::kRefused ||
      (is_named && file.state == FileText::State::kMissing)) {
    std::string by =
        is_named ? fmt::format("{}: {}{}", named->second.source, table.prefix(), kConfigFile)
                 : name;
    loader.note_file(name);
    loader.report_unreadable(by + ": must name a readable file of at most 1 MiB");
    return;
  }
  if (file.state == FileText::State::kMissing) return;
  loader.note_file(name);
  Entries entries = parse_file(table, file.text, name);
  if (!check_access(loader, file, entries, name)) return;
  std::string plain = table.prefix() + std::string(kConfigFile);
  std::string rooted =
      fmt::format("{}{}_{}", table.prefix(), name_of_path(table.form().root_section), kConfigFile);
  loader.keep_open(std::move(entries.open), std::filesystem::path(name).filename().string());
  for (const auto& entry : entries.entries) {
    if (entry.key != plain && entry.key != rooted) continue;
    entries.errors.push_back(
        fmt::format("{}: {}: a file cannot name the file to read", entry.source, entry.key));
  }
  loader.take(entries);
}

}  // namespace

LoadReport read(const SettingsTable& table, const Places& places) {
  Loader loader(table, places);
  take_overrides(loader);
  loader.take(from_environment(places.environment, table.prefix()));
  take_dotenv(loader);
  take_file(loader);
  LoadReport report;
  report.errors = loader.errors();
  report.in_doubt = loader.in_doubt();
  report.unreadable = loader.unreadable();
  report.file_found = loader.file_found();
  report.files = loader.files();
  report.open = loader.open();
  report.open_source = loader.open_source();
  for (const auto& setting : table.settings()) {
    auto taken = loader.taken().find(setting.name);
    if (taken != loader.taken().end()) {
      report.values.values_[setting.name] = {std::move(taken->second.value),
                                             std::move(taken->second.source)};
    } else {
      report.values.values_[setting.name] = {*parse_setting(setting, setting.default_text),
                                             "default"};
    }
  }
  return report;
}

Result<SettingValues> load(const SettingsTable& table, const Places& places) {
  LoadReport report = read(table, places);
  if (!report.errors.empty()) return faults_error(report.errors);
  return std::move(report.values);
}

Error faults_error(const std::vector<std::string>& lines) {
  if (lines.empty()) std::abort();
  return fail(ErrorKind::kInvalid, fmt::format("{}", fmt::join(lines, "\n")));
}

}  // namespace base::config

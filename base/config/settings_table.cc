#include "base/config/settings_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <optional>
#include <set>

namespace base::config {
namespace {

constexpr std::string_view kConfigFile = "CONFIG_FILE";
constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr std::size_t kMaxErrors = 100;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

struct FileText {
  enum class State { kRead, kMissing, kRefused } state;
  std::string text;
};

FileText read_file(const std::filesystem::path& path) {
  std::error_code ec;
  auto status = std::filesystem::status(path, ec);
  if (!std::filesystem::exists(status)) {
    bool missing = status.type() == std::filesystem::file_type::not_found;
    return {missing ? FileText::State::kMissing : FileText::State::kRefused, {}};
  }
  if (!std::filesystem::is_regular_file(status)) return {FileText::State::kRefused, {}};
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (in.bad() || !in.eof() || text.size() > kMaxFileBytes) return {FileText::State::kRefused, {}};
  return {FileText::State::kRead, std::move(text)};
}

// Takes entries from the strongest source to the weakest. The first text for a
// setting stands; the texts below it are checked all the same.
class Loader {
 public:
  explicit Loader(const SettingsTable& table) : table_(table) {}

  struct Taken {
    SettingValue value;
    std::string source;
  };

  void take(const Entries& source) {
    for (const auto& error : source.errors) report(error);
    std::set<std::string, std::less<>> seen;
    for (const auto& entry : source.entries) {
      if (!seen.insert(entry.key).second) {
        report(fmt::format("{}: {}: is set a second time in this source", entry.source, entry.key));
      } else {
        take_entry(entry);
      }
    }
  }

  void report(std::string line) {
    if (errors_.size() < kMaxErrors) errors_.push_back(std::move(line));
  }

  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }
  std::map<std::string, Taken, std::less<>>& taken() { return taken_; }

 private:
  void take_entry(const Entry& entry) {
    std::string_view name = std::string_view(entry.key).substr(table_.prefix().size());
    const Setting* setting = table_.find(name);
    if (setting == nullptr) {
      report(fmt::format("{}: {}: no such setting; the nearest is {}{}", entry.source, entry.key,
                         table_.prefix(), table_.nearest(name)));
      return;
    }
    auto value = parse_setting(*setting, entry.text);
    if (!value) {
      report(fmt::format("{}: {}: {}", entry.source, entry.key, value.error().message()));
      return;
    }
    taken_.try_emplace(std::string(name), Taken{std::move(*value), entry.source});
  }

  const SettingsTable& table_;
  std::vector<std::string> errors_;
  std::map<std::string, Taken, std::less<>> taken_;
};

void take_overrides(Loader& loader, const std::vector<std::string>& overrides,
                    std::string_view prefix) {
  Entries entries = from_environment(overrides, prefix);
  for (auto& entry : entries.entries) entry.source = "command line";
  for (std::string_view text : overrides) {
    if (!text.starts_with(prefix) || text.find('=') == std::string_view::npos) {
      entries.errors.push_back(fmt::format("command line: {}: must have the form {}NAME=value",
                                           shown_key(text.substr(0, text.find('='))), prefix));
    }
  }
  loader.take(entries);
}

void take_dotenv(Loader& loader, const std::filesystem::path& folder, std::string_view prefix) {
  FileText file = read_file(folder / ".env");
  if (file.state == FileText::State::kRefused) {
    loader.report(".env: must be a readable file of at most 1 MiB");
  }
  loader.take(from_dotenv(file.text, prefix, ".env"));
}

void take_toml(Loader& loader, const SettingsTable& table, const std::filesystem::path& folder) {
  std::string name = table.default_file();
  auto named = loader.taken().find(kConfigFile);
  bool is_named =
      named != loader.taken().end() && !std::get<std::string>(named->second.value).empty();
  if (is_named) name = std::get<std::string>(named->second.value);
  FileText file = read_file(folder / name);
  if (file.state == FileText::State::kRefused ||
      (is_named && file.state == FileText::State::kMissing)) {
    std::string by =
        is_named ? fmt::format("{}: {}{}", named->second.source, table.prefix(), kConfigFile)
                 : name;
    loader.report(by + ": must name a readable file of at most 1 MiB");
  }
  std::string shown = std::filesystem::path(name).filename().string();
  Entries entries = from_toml(file.text, table.prefix(), shown);
  for (const auto& entry : entries.entries) {
    if (entry.key != table.prefix() + std::string(kConfigFile)) continue;
    entries.errors.push_back(
        fmt::format("{}: {}: a file cannot name the file to read", entry.source, entry.key));
  }
  loader.take(entries);
}

}  // namespace

SettingsTable::SettingsTable(std::string prefix, std::vector<Setting> settings)
    : prefix_(std::move(prefix)), settings_(std::move(settings)) {
  settings_.push_back({kConfigFile, TextType{}, "", "Files",
                       "TOML file to read instead of the one in the working directory."});
  std::set<std::string_view> names;
  for (const auto& setting : settings_) {
    if (!names.insert(setting.name).second || !parse_setting(setting, setting.default_text)) {
      fmt::print(stderr, "settings table: {} is listed twice or has a bad default\n", setting.name);
      std::abort();
    }
  }
}

const Setting* SettingsTable::find(std::string_view name) const {
  auto it = std::ranges::find(settings_, name, &Setting::name);
  return it == settings_.end() ? nullptr : &*it;
}

std::string_view SettingsTable::nearest(std::string_view name) const {
  return std::ranges::min(settings_, {},
                          [&](const Setting& setting) { return edit_distance(name, setting.name); })
      .name;
}

std::string SettingsTable::default_file() const {
  std::string name = prefix_.substr(0, prefix_.size() - 1);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name + ".toml";
}

std::vector<std::string> process_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    out.emplace_back(*entry);
  }
  return out;
}

Result<SettingValues> load(const SettingsTable& table, const Places& places) {
  Loader loader(table);
  take_overrides(loader, places.overrides, table.prefix());
  loader.take(from_environment(places.environment, table.prefix()));
  take_dotenv(loader, places.folder, table.prefix());
  take_toml(loader, table, places.folder);
  if (!loader.errors().empty()) {
    return fail(ErrorKind::kInvalid, fmt::format("{}", fmt::join(loader.errors(), "\n")));
  }
  SettingValues values;
  for (const auto& setting : table.settings()) {
    auto taken = loader.taken().find(setting.name);
    std::string name(setting.name);
    if (taken != loader.taken().end()) {
      values.values_[name] = {std::move(taken->second.value), std::move(taken->second.source)};
    } else {
      values.values_[name] = {*parse_setting(setting, setting.default_text), "default"};
    }
  }
  return values;
}

const SettingValues::Held& SettingValues::held(std::string_view name) const {
  auto it = values_.find(name);
  if (it == values_.end()) std::abort();
  return it->second;
}

namespace {

template <class T>
const T& typed(const SettingValue& value) {
  const T* held = std::get_if<T>(&value);
  if (held == nullptr) std::abort();
  return *held;
}

}  // namespace

const std::string& SettingValues::text(std::string_view name) const {
  return typed<std::string>(held(name).value);
}
std::int64_t SettingValues::integer(std::string_view name) const {
  return typed<std::int64_t>(held(name).value);
}
bool SettingValues::flag(std::string_view name) const { return typed<bool>(held(name).value); }
std::chrono::microseconds SettingValues::duration(std::string_view name) const {
  return typed<std::chrono::microseconds>(held(name).value);
}
Bytes SettingValues::bytes(std::string_view name) const { return typed<Bytes>(held(name).value); }
const Secret& SettingValues::secret(std::string_view name) const {
  return typed<Secret>(held(name).value);
}
const std::string& SettingValues::source(std::string_view name) const { return held(name).source; }

}  // namespace base::config

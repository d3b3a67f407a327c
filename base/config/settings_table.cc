#include "base/config/settings_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/config/nearest.h"

namespace base::config {
namespace {

constexpr std::string_view kConfigFile = "CONFIG_FILE";

}  // namespace

SettingsTable::SettingsTable(std::string prefix, std::vector<Setting> settings, TableForm form)
    : prefix_(std::move(prefix)), settings_(std::move(settings)), form_(std::move(form)) {
  if (is_nested()) {
    settings_.push_back(
        setting_at("config_file", TextType{}, "", "Files",
                   "TOML, YAML or ENV file to read instead of the one in the working directory."));
  } else {
    settings_.push_back({std::string(kConfigFile), TextType{}, "", "Files",
                         "TOML file to read instead of the one in the working directory."});
  }
  std::set<std::string_view> names;
  for (const auto& setting : settings_) {
    bool has_path = !is_nested() || setting.name == name_of_path(setting.path);
    if (!has_path || !names.insert(setting.name).second ||
        !parse_setting(setting, setting.default_text)) {
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
  return nearest_to(name, settings_,
                    [](const Setting& each) { return std::string_view(each.name); })
      ->name;
}

std::string_view SettingsTable::nearest_path(std::string_view path) const {
  return nearest_to(path, settings_, [](const Setting& each) { return each.path; })->path;
}

std::vector<std::string> SettingsTable::default_files() const {
  std::string stem = form_.file_stem;
  if (stem.empty()) {
    stem = prefix_.substr(0, prefix_.size() - 1);
    std::ranges::transform(stem, stem.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  if (!is_nested()) return {stem + ".toml"};
  return {stem + ".toml", stem + ".yaml", stem + ".yml"};
}

std::vector<std::string> process_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    out.emplace_back(*entry);
  }
  return out;
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
const std::vector<std::string>& SettingValues::list(std::string_view name) const {
  return typed<std::vector<std::string>>(held(name).value);
}
const std::string& SettingValues::source(std::string_view name) const { return held(name).source; }

}  // namespace base::config

#include "base/config/describe.h"

#include <fmt/format.h>

#include <algorithm>

namespace base::config {
namespace {

constexpr std::string_view kOrder =
    "Strongest first: the command line, the environment, the file `.env` in the working "
    "directory\n(only names that begin with `{prefix}`), then `{file}` or the file named by "
    "`{prefix}CONFIG_FILE`.\n"
    "In that file a top-level key `key` sets `{prefix}KEY`, and `key` in a section `[section]` "
    "sets\n`{prefix}SECTION_KEY`. A name that is not in the tables below is an error.\n";

// Inside a table cell, '|' would end the cell.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string row(const SettingsTable& table, const Setting& setting) {
  std::string shown =
      setting.default_text.empty() ? "not set" : fmt::format("`{}`", setting.default_text);
  if (std::holds_alternative<SecretType>(setting.type) && !setting.default_text.empty()) {
    shown = "for development only";
  }
  return fmt::format("| `{}{}` | {} | {} | {} |\n", table.prefix(), setting.name, cell(shown),
                     cell(describe_type(setting.type)), cell(setting.help));
}

std::string value_text(const Setting& setting, const SettingValues& values) {
  struct Show {
    const SettingValues& values;
    std::string_view name;
    std::string operator()(const TextType&) const { return values.text(name); }
    std::string operator()(const ChoiceType&) const { return values.text(name); }
    std::string operator()(const UrlType&) const { return values.text(name); }
    std::string operator()(const IntegerType&) const {
      return std::to_string(values.integer(name));
    }
    std::string operator()(const FlagType&) const { return values.flag(name) ? "1" : "0"; }
    std::string operator()(const BytesType&) const {
      return std::to_string(values.bytes(name).count);
    }
    std::string operator()(const DurationType&) const {
      return fmt::format("{}", std::chrono::duration<double>(values.duration(name)).count());
    }
    std::string operator()(const SecretType&) const {
      return values.secret(name).empty() ? "" : "***";
    }
  };
  return std::visit(Show{values, setting.name}, setting.type);
}

}  // namespace

std::string settings_markdown(const SettingsTable& table, std::string_view title) {
  std::string out = fmt::format("# {}\n\n", title);
  out += fmt::format(fmt::runtime(kOrder), fmt::arg("prefix", table.prefix()),
                     fmt::arg("file", table.default_file()));
  std::vector<std::string_view> sections;
  for (const auto& setting : table.settings()) {
    if (std::ranges::find(sections, setting.section) == sections.end()) {
      sections.push_back(setting.section);
    }
  }
  for (auto section : sections) {
    out += fmt::format(
        "\n## {}\n\n| setting | default | takes | what it does |\n|---|---|---|---|\n", section);
    for (const auto& setting : table.settings()) {
      if (setting.section == section) out += row(table, setting);
    }
  }
  return out;
}

std::string show_settings(const SettingsTable& table, const SettingValues& values) {
  std::string out;
  for (const auto& setting : table.settings()) {
    out += fmt::format("{}{}={} ({})\n", table.prefix(), setting.name, value_text(setting, values),
                       values.source(setting.name));
  }
  return out;
}

}  // namespace base::config

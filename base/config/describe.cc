#include "base/config/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace base::config {
namespace {

constexpr std::string_view kOrder =
    "Strongest first: the command line, the environment, the file `.env` in the working "
    "directory\n(only names that begin with `{prefix}`), then `{file}` or the file named by "
    "`{prefix}CONFIG_FILE`.\n"
    "In that file a top-level key `key` sets `{prefix}KEY`, and `key` in a section `[section]` "
    "sets\n`{prefix}SECTION_KEY`. A name that is not in the tables below is an error.\n";

constexpr std::string_view kRootOrder =
    "A setting without a section may also stand in the section `{root}`, and as "
    "`{prefix}{variable}_NAME`.\n";

constexpr std::string_view kHead =
    "| setting | default | takes | what it does |\n|---|---|---|---|";
constexpr std::string_view kNestedHead =
    "| setting | in the environment | default | takes | what it does |\n|---|---|---|---|---|";

constexpr std::string_view kNestedOrder =
    "Strongest first: the command line, the environment, the file `.env` in the working "
    "directory\n(only names that begin with `{prefix}`), then one of {files} or the file named by "
    "`{prefix}CONFIG_FILE`,\nwhose name ends with `.toml`, `.yaml`, `.yml` or `.env`. In a TOML or "
    "YAML file "
    "`a.b.key` is `key` in the section `b`\nof the section `a`, and a list is an array; elsewhere "
    "a list "
    "is parted by commas. Relative names of files start\nat the working directory.\n\n"
    "For every secret `{prefix}NAME` there is `{prefix}NAME_FILE` (in a file `name_file`): the "
    "file that holds "
    "it. That file\nmust be a regular one of at most 8 KiB, this user's or root's, without access "
    "for group "
    "and others; one line end\nat its end is left off. In one source only one of the two may "
    "stand. "
    "A name that is not in the tables below is an error.\n";

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
  if (table.is_nested()) {
    return fmt::format("| `{}` | `{}{}` | {} | {} | {} |\n", setting.path, table.prefix(),
                       setting.name, cell(shown), cell(describe_type(setting.type)),
                       cell(setting.help));
  }
  return fmt::format("| `{}{}` | {} | {} | {} |\n", table.prefix(), setting.name, cell(shown),
                     cell(describe_type(setting.type)), cell(setting.help));
}

}  // namespace

std::string settings_markdown(const SettingsTable& table, std::string_view title) {
  std::string out = fmt::format("# {}\n\n", title);
  auto files = table.default_files();
  if (table.is_nested()) {
    out += fmt::format(fmt::runtime(kNestedOrder), fmt::arg("prefix", table.prefix()),
                       fmt::arg("files", fmt::format("`{}`", fmt::join(files, "`, `"))));
    if (const auto& root = table.form().root_section; !root.empty()) {
      out +=
          fmt::format(fmt::runtime(kRootOrder), fmt::arg("root", root),
                      fmt::arg("prefix", table.prefix()), fmt::arg("variable", name_of_path(root)));
    }
  } else {
    out += fmt::format(fmt::runtime(kOrder), fmt::arg("prefix", table.prefix()),
                       fmt::arg("file", files.front()));
  }
  std::vector<std::string_view> sections;
  for (const auto& setting : table.settings()) {
    if (std::ranges::find(sections, setting.section) == sections.end()) {
      sections.push_back(setting.section);
    }
  }
  for (auto section : sections) {
    out += fmt::format("\n## {}\n\n{}\n", section, table.is_nested() ? kNestedHead : kHead);
    for (const auto& setting : table.settings()) {
      if (setting.section == section) out += row(table, setting);
    }
  }
  return out;
}

std::string show_settings(const SettingsTable& table, const SettingValues& values) {
  std::string out;
  for (const auto& setting : table.settings()) {
    out += fmt::format("{}{}={} ({})\n", table.prefix(), setting.name,
                       to_text(values.value(setting.name)), values.source(setting.name));
  }
  return out;
}

}  // namespace base::config

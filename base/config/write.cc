#include "base/config/write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace base::config {
namespace {

// Both forms know the escapes of a JSON string, and a value has no control
// characters.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string clear_text(const SettingValue& value) {
  if (const auto* secret = std::get_if<Secret>(&value)) return secret->reveal();
  return to_text(value);
}

// The same in TOML and in YAML.
std::string value_text(const SettingValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) {
    std::vector<std::string> each;
    std::ranges::transform(*items, std::back_inserter(each), in_quotes);
    return fmt::format("[{}]", fmt::join(each, ", "));
  }
  bool is_number =
      std::holds_alternative<std::int64_t>(value) || std::holds_alternative<Bytes>(value);
  return is_number ? to_text(value) : in_quotes(clear_text(value));
}

bool is_written(const Setting& setting, const SettingValues& values, Secrets secrets) {
  if (setting.name == "CONFIG_FILE" || values.is_default(setting.name)) return false;
  return secrets == Secrets::kInClear || !std::holds_alternative<SecretType>(setting.type);
}

struct Split {
  std::string_view section;  // "connectors.sql"; empty at the top.
  std::string_view key;
};

Split split(std::string_view path) {
  auto dot = path.rfind('.');
  if (dot == std::string_view::npos) return {{}, path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

// A section's settings stand together wherever the table has them, the ones
// without a section first.
std::vector<std::string_view> sections_of(const SettingsTable& table) {
  std::vector<std::string_view> out = {""};
  for (const auto& setting : table.settings()) {
    auto section = split(setting.path).section;
    if (std::ranges::find(out, section) == out.end()) out.push_back(section);
  }
  return out;
}

// A tree of sections, each opened once.
class YamlWriter {
 public:
  void line(std::string_view path, std::string_view value) {
    std::size_t depth = open(split(path).section);
    out_ += fmt::format("{}{}: {}\n", std::string(depth * 2, ' '), split(path).key, value);
  }
  std::string done() && { return std::move(out_); }

 private:
  // Writes the heads of the sections that are not open yet.
  std::size_t open(std::string_view section) {
    std::vector<std::string> parts;
    while (!section.empty()) {
      auto dot = section.find('.');
      parts.emplace_back(section.substr(0, dot));
      section.remove_prefix(dot == std::string_view::npos ? section.size() : dot + 1);
    }
    std::size_t same = 0;
    while (same < std::min(parts.size(), open_.size()) && parts[same] == open_[same]) ++same;
    for (std::size_t i = same; i < parts.size(); ++i) {
      out_ += fmt::format("{}{}:\n", std::string(i * 2, ' '), parts[i]);
    }
    open_ = parts;
    return parts.size();
  }

  std::string out_;
  std::vector<std::string> open_;
};

}  // namespace

std::string to_toml(const SettingsTable& table, const SettingValues& values, Secrets secrets) {
  std::string out;
  for (auto section : sections_of(table)) {
    std::string lines;
    for (const auto& setting : table.settings()) {
      auto [of, key] = split(setting.path);
      if (of != section || !is_written(setting, values, secrets)) continue;
      lines += fmt::format("{} = {}\n", key, value_text(values.value(setting.name)));
    }
    if (!lines.empty() && !section.empty()) out += fmt::format("\n[{}]\n", section);
    out += lines;
  }
  return out;
}

std::string to_yaml(const SettingsTable& table, const SettingValues& values, Secrets secrets) {
  // Sorted by section, a parent is beside its children and none opens twice.
  std::vector<std::string_view> sections = sections_of(table);
  std::ranges::sort(sections);
  YamlWriter writer;
  for (auto section : sections) {
    for (const auto& setting : table.settings()) {
      if (split(setting.path).section != section || !is_written(setting, values, secrets)) continue;
      writer.line(setting.path, value_text(values.value(setting.name)));
    }
  }
  return std::move(writer).done();
}

Result<std::string> to_env(const SettingsTable& table, const SettingValues& values,
                           Secrets secrets) {
  std::string out;
  for (const auto& setting : table.settings()) {
    if (!is_written(setting, values, secrets)) continue;
    std::string text = clear_text(values.value(setting.name));
    char quote = text.contains('"') ? '\'' : '"';
    if (text.contains(quote)) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}{}: has both kinds of quotes", table.prefix(), setting.name));
    }
    out += fmt::format("{}{}={}{}{}\n", table.prefix(), setting.name, quote, text, quote);
  }
  return out;
}

}  // namespace base::config

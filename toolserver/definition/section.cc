#include "toolserver/definition/section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/config/nearest.h"
#include "base/config/sources.h"
#include "base/core/text.h"

namespace tool::definition {
namespace {

using base::json::Value;

constexpr std::size_t kMaxFaults = 100;

bool is_line(std::string_view text, Section::Lines lines) {
  bool many = lines == Section::Lines::kMany;
  return base::is_utf8(text) && std::ranges::none_of(text, [&](unsigned char c) {
           return (c < 0x20 && !(many && (c == '\n' || c == '\t'))) || c == 0x7f;
         });
}

}  // namespace

std::string key_table(std::string_view title, std::span<const Key> keys) {
  std::string out =
      fmt::format("\n### {}\n| key | takes | default | what it does |\n|---|---|---|---|\n", title);
  for (const Key& key : keys) {
    std::string standard = key.standard.empty() ? "" : fmt::format("`{}`", key.standard);
    out += fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.takes, standard, key.help);
  }
  return out;
}

void Faults::add(std::string line) {
  if (lines_.size() < kMaxFaults) lines_.push_back(std::move(line));
}

void Section::fault(std::string_view key, std::string_view rule) {
  faults_.add(fmt::format("{}.{}: {}", path_, base::config::shown_key(key), rule));
}

void Section::only(std::initializer_list<std::span<const Key>> known) {
  std::vector<std::string_view> names;
  for (const auto& list : known) {
    for (const Key& key : list) names.push_back(key.name);
  }
  for (const auto& member : table_) {
    std::string_view name = member.key();
    if (std::ranges::find(names, name) != names.end()) continue;
    auto nearest =
        base::config::nearest_to(name.substr(0, 64), names, [](auto one) { return one; });
    fault(name, fmt::format("no such key; the nearest is {}", *nearest));
  }
}

std::string Section::text(std::string_view key, std::size_t most, Lines lines) {
  const Value* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_string()) {
    fault(key, "must be a text");
    return {};
  }
  std::string text(value->get_string());
  if (text.size() > most) fault(key, fmt::format("must have at most {} bytes", most));
  if (!is_line(text, lines)) fault(key, "must be UTF-8 without control characters");
  return text;
}

std::string Section::required(std::string_view key, std::size_t most) {
  if (!has(key)) {
    fault(key, "must be there");
    return {};
  }
  std::string out = text(key, most);
  if (out.empty() && find(key)->is_string()) fault(key, "must not be empty");
  return out;
}

bool Section::flag(std::string_view key, bool standard) {
  const Value* value = find(key);
  if (value == nullptr) return standard;
  if (!value->is_bool()) {
    fault(key, "must be true or false");
    return standard;
  }
  return value->get_bool();
}

std::vector<std::string> Section::texts(std::string_view key, std::size_t most) {
  const Value* value = find(key);
  if (value == nullptr) return {};
  bool good = value->is_array() && value->get_array().size() <= most &&
              std::ranges::all_of(value->get_array(), [](const Value& one) {
                return one.is_string() && is_line(one.get_string(), Lines::kMany);
              });
  if (!good) {
    fault(key, fmt::format("must be a list of at most {} texts without control characters", most));
    return {};
  }
  std::vector<std::string> out;
  for (const Value& one : value->get_array()) out.emplace_back(one.get_string());
  return out;
}

std::vector<int> Section::integers(std::string_view key, int least, int greatest,
                                   std::size_t most) {
  const Value* value = find(key);
  if (value == nullptr) return {};
  bool good = value->is_array() && !value->get_array().empty() &&
              value->get_array().size() <= most &&
              std::ranges::all_of(value->get_array(), [&](const Value& one) {
                return one.is_int64() && one.get_int64() >= least && one.get_int64() <= greatest;
              });
  if (!good) {
    fault(key, fmt::format("must be a list of 1 to {} numbers, {} to {}", most, least, greatest));
    return {};
  }
  std::vector<int> out;
  for (const Value& one : value->get_array()) out.push_back(static_cast<int>(one.get_int64()));
  return out;
}

const base::json::Object* Section::section(std::string_view key) {
  const Value* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) {
    fault(key, "must be a section");
    return nullptr;
  }
  return &value->get_object();
}

base::config::SettingValue Section::value(std::string_view key,
                                          const base::config::SettingType& type,
                                          std::string_view standard) {
  base::config::Setting setting{std::string(key), type, standard, {}, {}, {}};
  if (const Value* value = find(key)) {
    bool scalar = value->is_string() || value->is_number();
    std::string text;
    if (value->is_string()) {
      text = value->get_string();
    } else if (scalar) {
      text = base::json::write(*value);
    }
    auto parsed = base::config::parse_setting(setting, text);
    if (scalar && parsed) return std::move(*parsed);
    fault(key, scalar ? parsed.error().message()
                      : fmt::format("must be: {}", base::config::describe_type(type)));
  }
  return *base::config::parse_setting(setting, standard);
}

}  // namespace tool::definition

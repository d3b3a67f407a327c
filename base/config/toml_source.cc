#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/config/sources.h"
#include "base/config/tree_entries.h"

namespace base::config {
namespace {

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return std::string(flag->get() ? "true" : "false");
  return std::nullopt;
}

// What stands on the line, as far as it can be told: the library's own words may
// quote the value, and with it a secret.
std::string place_of(std::string_view text, std::size_t line) {
  for (std::size_t number = 1; number < line && text.contains('\n'); ++number) {
    text.remove_prefix(text.find('\n') + 1);
  }
  text = text.substr(0, text.find('\n'));
  auto equals = text.find('=');
  std::string_view key = text.substr(0, equals);
  while (!key.empty() && (key.back() == ' ' || key.back() == '\t')) key.remove_suffix(1);
  auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (equals == std::string_view::npos || key.empty() || !std::ranges::all_of(key, in_name)) {
    return ": a line is `name = value` or `[section]`";
  }
  return fmt::format(": the value of {}; a text stands in quotes", shown_key(key));
}

// Nothing for what JSON does not have, and for what is nested too deeply.
std::optional<json::Value> json_of(const toml::node& node, std::size_t depth) {
  if (depth > kMaxOpenNesting) return std::nullopt;
  if (const auto* text = node.as_string()) return json::Value(text->get());
  if (const auto* number = node.as_integer()) return json::Value(number->get());
  if (const auto* flag = node.as_boolean()) return json::Value(flag->get());
  if (const auto* number = node.as_floating_point()) {
    if (!std::isfinite(number->get())) return std::nullopt;
    return json::Value(number->get());
  }
  if (const auto* items = node.as_array()) {
    json::Array out;
    for (const auto& item : *items) {
      auto value = json_of(item, depth + 1);
      if (!value) return std::nullopt;
      out.push_back(std::move(*value));
    }
    return json::Value(std::move(out));
  }
  const auto* table = node.as_table();
  if (table == nullptr) return std::nullopt;
  json::Object out;
  for (const auto& [key, member] : *table) {
    auto value = json_of(member, depth + 1);
    if (!value) return std::nullopt;
    out.emplace(key.str(), std::move(*value));
  }
  return json::Value(std::move(out));
}

class Walk {
 public:
  Walk(std::string_view prefix, std::string_view file, Nesting nesting,
       std::span<const std::string> open_sections)
      : out_(prefix, file), nesting_(nesting), open_sections_(open_sections) {}

  // Not deeper than kMaxNesting calls of itself.
  void table(const toml::table& table) {
    for (const auto& [key, node] : table) {
      path_.emplace_back(key.str());
      take(node);
      path_.pop_back();
    }
  }

  Entries done() && {
    Entries entries = std::move(out_).done();
    entries.open = std::move(open_);
    return entries;
  }

 private:
  void take(const toml::node& node) {
    if (path_.size() == 1 && std::ranges::find(open_sections_, path_[0]) != open_sections_.end()) {
      take_open(node);
      return;
    }
    std::size_t deepest = nesting_ == Nesting::kFlat ? 1 : kMaxNesting;
    if (const auto* section = node.as_table(); section != nullptr && path_.size() <= deepest) {
      table(*section);
    } else if (const auto* items = node.as_array();
               items != nullptr && nesting_ == Nesting::kNested) {
      list(*items);
    } else if (auto text = text_of(node)) {
      out_.add_text(path_, std::move(*text));
    } else {
      out_.refuse(path_, "must be a string, a number or a boolean");
    }
  }

  void take_open(const toml::node& node) {
    const auto* section = node.as_table();
    if (section == nullptr) {
      out_.refuse(path_, "must be a section");
      return;
    }
    json::Object& kept = open_[path_[0]].emplace_object();
    for (const auto& [key, member] : *section) {
      path_.emplace_back(key.str());
      if (auto value = json_of(member, 1)) {
        kept.emplace(key.str(), std::move(*value));
      } else {
        out_.refuse(path_, "must not hold dates, infinite numbers or more than 32 levels");
      }
      path_.pop_back();
    }
  }

  void list(const toml::array& array) {
    std::vector<std::string> items;
    for (const auto& node : array) {
      auto text = text_of(node);
      if (!text) {
        out_.refuse(path_, "must be a list of strings, numbers or booleans");
        return;
      }
      items.push_back(std::move(*text));
    }
    out_.add_list(path_, items);
  }

  TreeEntries out_;
  Nesting nesting_;
  std::span<const std::string> open_sections_;
  json::Object open_;
  std::vector<std::string> path_;
};

}  // namespace

Entries from_toml(std::string_view text, std::string_view prefix, std::string_view file,
                  Nesting nesting, std::span<const std::string> open_sections) {
  try {
    toml::table table = toml::parse(text, std::string(file));
    Walk walk(prefix, file, nesting, open_sections);
    walk.table(table);
    return std::move(walk).done();
  } catch (const toml::parse_error& error) {
    auto begin = error.source().begin;
    return {{},
            {fmt::format("{}:{}:{}: is not TOML{}", file, begin.line, begin.column,
                         place_of(text, begin.line))},
            true};
  }
}

}  // namespace base::config

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
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

class Walk {
 public:
  Walk(std::string_view prefix, std::string_view file, Nesting nesting, std::string_view open)
      : out_(prefix, file, open), nesting_(nesting) {}

  // Not deeper than kMaxNesting calls of itself.
  void table(const toml::table& table) {
    for (const auto& [key, node] : table) {
      path_.emplace_back(key.str());
      take(node);
      path_.pop_back();
    }
  }

  Entries done() && { return std::move(out_).done(); }

 private:
  void take(const toml::node& node) {
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
  std::vector<std::string> path_;
};

}  // namespace

Entries from_toml(std::string_view text, std::string_view prefix, std::string_view file,
                  Nesting nesting, std::string_view open) {
  try {
    toml::table table = toml::parse(text, std::string(file));
    Walk walk(prefix, file, nesting, open);
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

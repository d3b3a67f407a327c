#include <fmt/format.h>
#include <toml++/toml.h>

#include <optional>

#include "base/config/sources.h"

namespace base::config {
namespace {

std::string capitals(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return std::string(flag->get() ? "true" : "false");
  return std::nullopt;
}

class Walk {
 public:
  Walk(std::string_view prefix, std::string_view file) : prefix_(prefix), file_(file) {}

  void top(const toml::table& table) {
    for (const auto& [key, node] : table) {
      if (const auto* section = node.as_table()) {
        inner(key.str(), *section);
      } else {
        take(std::string(key.str()), capitals(key.str()), node);
      }
    }
  }

  Entries done() && { return std::move(out_); }

 private:
  void inner(std::string_view section, const toml::table& table) {
    for (const auto& [key, node] : table) {
      take(fmt::format("{}.{}", section, key.str()),
           fmt::format("{}_{}", capitals(section), capitals(key.str())), node);
    }
  }

  void take(const std::string& path, const std::string& name, const toml::node& node) {
    std::string source = fmt::format("{}:{}", file_, shown_key(path));
    std::string key = shown_key(prefix_ + name);
    if (auto text = text_of(node)) {
      out_.entries.push_back({std::move(key), std::move(*text), std::move(source)});
    } else {
      out_.errors.push_back(
          fmt::format("{}: {}: must be a string, a number or a boolean", source, key));
    }
  }

  std::string prefix_;
  std::string file_;
  Entries out_;
};

}  // namespace

Entries from_toml(std::string_view text, std::string_view prefix, std::string_view file) {
  try {
    toml::table table = toml::parse(text, std::string(file));
    Walk walk(prefix, file);
    walk.top(table);
    return std::move(walk).done();
  } catch (const toml::parse_error& error) {
    // The library's own words may quote the line, and with it a secret.
    auto begin = error.source().begin;
    return {{}, {fmt::format("{}:{}:{}: is not TOML", file, begin.line, begin.column)}};
  }
}

}  // namespace base::config

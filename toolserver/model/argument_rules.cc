#include "toolserver/model/argument_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace tool {
namespace {

namespace json = base::json;

constexpr std::int64_t kPatternMemory = 1 << 20;

bool is_hidden_separator(std::string_view text, std::size_t at) {
  if (text[at] != '%') return false;
  std::string code(text.substr(at + 1, 2));
  std::ranges::transform(code, code.begin(), [](unsigned char c) { return std::tolower(c); });
  // An escaped '%' would be an escape after the first decoding.
  return code == "2e" || code == "2f" || code == "5c" || code == "25" || code == "00";
}

bool is_unclear(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    auto c = static_cast<unsigned char>(path[i]);
    if (c < 0x20 || c == 0x7f || c == '\\' || is_hidden_separator(path, i)) return true;
  }
  return false;
}

// Without empty and "." segments; nothing where one is "..".
std::optional<std::vector<std::string_view>> segments_of(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    auto slash = std::min(path.find('/'), path.size());
    auto segment = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (segment == "..") return std::nullopt;
    if (!segment.empty() && segment != ".") out.push_back(segment);
  }
  return out;
}

// The arguments that a tool names.
std::set<std::string, std::less<>> names_in(const json::Object& input_schema) {
  std::set<std::string, std::less<>> names;
  const auto* properties = input_schema.if_contains("properties");
  if (properties && properties->is_object()) {
    for (const auto& [name, schema] : properties->get_object()) names.emplace(name);
  }
  return names;
}

Fault broken(const std::string& argument, std::string_view rule) {
  return refuse(Code::kPolicy, fmt::format("args.{}: {}", argument, rule));
}

}  // namespace

bool is_within(std::string_view path, std::string_view folder) {
  if (path.empty() || is_unclear(path)) return false;
  auto segments = segments_of(path);
  if (!segments) return false;
  auto limit = segments_of(folder);
  bool is_absolute = path[0] == '/';
  if (!limit || is_absolute != folder.starts_with('/')) return false;
  if (!is_absolute && !segments->empty() &&
      (segments->front().starts_with('~') || segments->front().contains(':'))) {
    return false;
  }
  return segments->size() >= limit->size() &&
         std::ranges::equal(*limit, std::span(*segments).first(limit->size()));
}

bool is_rule_folder(std::string_view folder) {
  if (folder == "." || folder == "/") return true;
  std::string_view rest = folder.starts_with('/') ? folder.substr(1) : folder;
  if (!is_within(folder, folder.starts_with('/') ? "/" : ".") || rest.ends_with('/')) return false;
  // In normal form the segments are all that there is.
  return !rest.starts_with('/') && !rest.contains("//") && rest != "." && !rest.starts_with("./") &&
         !rest.contains("/./") && !rest.ends_with("/.");
}

struct ArgumentRules::Rule {
  ArgumentRule text;
  std::unique_ptr<const RE2> pattern;

  [[nodiscard]] Outcome<void> check(const json::Value& value) const;
  [[nodiscard]] Outcome<void> check_one(const json::Value& value) const;
  [[nodiscard]] Outcome<void> check_text(const json::Value& value) const;
  [[nodiscard]] Outcome<void> check_number(const json::Value& value) const;
  [[nodiscard]] bool is_listed(const json::Value& value) const;
};

// Of an array each item counts: a tool that takes many takes each of them.
Outcome<void> ArgumentRules::Rule::check(const json::Value& value) const {
  if (!value.is_array()) return check_one(value);
  for (const auto& item : value.get_array()) {
    if (auto good = check_one(item); !good) return good;
  }
  return {};
}

Outcome<void> ArgumentRules::Rule::check_one(const json::Value& value) const {
  if (auto good = check_text(value); !good) return good;
  if (auto good = check_number(value); !good) return good;
  if (!text.values.empty() && !is_listed(value)) {
    return broken(text.argument, fmt::format("must be one of {}", fmt::join(text.values, ", ")));
  }
  return {};
}

Outcome<void> ArgumentRules::Rule::check_text(const json::Value& value) const {
  if (text.within.empty() && !pattern && text.tables.empty()) return {};
  if (!value.is_string()) return broken(text.argument, "must be a text, or a list of texts");
  std::string_view given = value.get_string();
  if (!text.within.empty() && !is_within(given, text.within)) {
    std::string rule = text.within == "." ? "must be a relative path that stays below"
                                          : "must be a path within " + text.within;
    return broken(text.argument, rule);
  }
  if (pattern && !RE2::FullMatch(re2::StringPiece(given.data(), given.size()), *pattern)) {
    return broken(text.argument, "must match the pattern " + text.pattern);
  }
  return {};
}

Outcome<void> ArgumentRules::Rule::check_number(const json::Value& value) const {
  if (!text.min && !text.max) return {};
  if (!value.is_number()) return broken(text.argument, "must be a number");
  auto number = value.to_number<double>();
  if (text.min && number < *text.min) {
    return broken(text.argument, fmt::format("must be at least {}", *text.min));
  }
  if (text.max && number > *text.max) {
    return broken(text.argument, fmt::format("must be at most {}", *text.max));
  }
  return {};
}

bool ArgumentRules::Rule::is_listed(const json::Value& value) const {
  std::string given = value.is_string() ? std::string(value.get_string()) : json::write(value);
  return std::ranges::find(text.values, given) != text.values.end();
}

base::Result<ArgumentRules> ArgumentRules::compile(const std::vector<ArgumentRule>& rules) {
  ArgumentRules out;
  for (const auto& text : rules) {
    auto rule = std::make_shared<Rule>();
    rule->text = text;
    if (!text.pattern.empty()) {
      RE2::Options options;
      options.set_log_errors(false);
      options.set_max_mem(kPatternMemory);
      rule->pattern = std::make_unique<const RE2>(text.pattern, options);
      if (!rule->pattern->ok()) {
        return base::fail(base::ErrorKind::kInvalid, text.argument + ": pattern: not for RE2");
      }
    }
    out.rules_.push_back(std::move(rule));
  }
  return out;
}

base::Result<ArgumentRules> ArgumentRules::compile(const std::vector<ArgumentRule>& rules,
                                                   std::string_view tool,
                                                   const json::Object& input_schema) {
  std::vector<ArgumentRule> mine;
  std::ranges::copy_if(rules, std::back_inserter(mine), [&](const ArgumentRule& rule) {
    return rule.tool == "*" || rule.tool == tool;
  });
  ASSIGN_OR_RETURN(ArgumentRules out, compile(mine));
  out.known_ = names_in(input_schema);
  // A rule for all tools says nothing of one that has no such argument.
  std::erase_if(out.rules_, [&](const auto& rule) {
    return rule->text.tool == "*" && !out.known_.contains(rule->text.argument);
  });
  return out;
}

Outcome<void> ArgumentRules::check(const json::Object& args) const { return check(args, known_); }

Outcome<void> ArgumentRules::check(const json::Object& args,
                                   const json::Object& input_schema) const {
  if (rules_.empty()) return {};
  return check(args, names_in(input_schema));
}

std::vector<ArgumentRule> ArgumentRules::with_tables() const {
  std::vector<ArgumentRule> out;
  for (const auto& rule : rules_) {
    if (!rule->text.tables.empty()) out.push_back(rule->text);
  }
  return out;
}

Outcome<void> ArgumentRules::check(const json::Object& args, const Names& known) const {
  if (rules_.empty()) return {};
  for (const auto& [name, value] : args) {
    if (!known.contains(std::string_view(name))) {
      return broken(std::string(name), "the tool names no such argument, and it has rules");
    }
  }
  for (const auto& rule : rules_) {
    const auto* value = args.if_contains(rule->text.argument);
    if (value && !value->is_null()) {
      if (auto good = rule->check(*value); !good) return good;
    } else if (!rule->text.is_optional) {
      return broken(rule->text.argument, "must be given: a rule holds for it");
    }
  }
  return {};
}

}  // namespace tool

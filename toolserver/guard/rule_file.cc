#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "toolserver/guard/rule.h"

namespace tool::guard {
namespace {

constexpr std::string_view kFormat = "securetool-rules/1";
constexpr std::size_t kExamples = 64;
constexpr std::size_t kExampleBytes = 16 << 10;
constexpr std::size_t kIdBytes = 64;

base::Error invalid(std::string what) {
  return base::fail(base::ErrorKind::kInvalid, std::move(what));
}
base::Error too_large(std::string what) {
  return base::fail(base::ErrorKind::kTooLarge, std::move(what));
}

bool is_id(std::string_view text) {
  auto is_inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kIdBytes && text.front() >= 'a' && text.front() <= 'z' &&
         std::ranges::all_of(text, is_inner);
}

using Members = std::initializer_list<std::string_view>;

base::Status only(const toml::table& table, Members known, const std::string& where) {
  for (const auto& [key, value] : table) {
    if (std::ranges::find(known, key.str()) != known.end()) continue;
    return invalid(fmt::format("{}{}: no such member", where,
                               base::for_terminal(base::shorten(key.str(), kIdBytes))));
  }
  return {};
}

base::Result<std::string> text_at(const toml::table& table, std::string_view key) {
  const auto* text = table[key].as_string();
  if (!text) return invalid(fmt::format("{}: must be a text", key));
  if (!base::is_utf8(text->get())) return invalid(fmt::format("{}: must be UTF-8", key));
  return text->get();
}

template <class Value, std::size_t size>
using Words = std::array<std::pair<std::string_view, Value>, size>;

constexpr Words<Severity, 4> kSeverities = {{{"low", Severity::kLow},
                                             {"medium", Severity::kMedium},
                                             {"high", Severity::kHigh},
                                             {"critical", Severity::kCritical}}};
constexpr Words<RuleKind, 3> kKinds = {{{"injection", RuleKind::kInjection},
                                        {"secret", RuleKind::kSecret},
                                        {"personal_data", RuleKind::kPersonalData}}};
constexpr Words<RuleAction, 4> kActions = {{{"note", RuleAction::kNote},
                                            {"redact", RuleAction::kRedact},
                                            {"consent", RuleAction::kConsent},
                                            {"deny", RuleAction::kDeny}}};
constexpr Words<RuleCheck, 2> kChecks = {{{"luhn", RuleCheck::kLuhn}, {"iban", RuleCheck::kIban}}};

template <class Value, std::size_t size>
base::Result<Value> word_at(const toml::table& table, std::string_view key,
                            const Words<Value, size>& words) {
  ASSIGN_OR_RETURN(std::string text, text_at(table, key));
  std::string all;
  for (const auto& [word, value] : words) {
    if (word == text) return value;
    all += all.empty() ? "" : ", ";
    all += word;
  }
  return invalid(fmt::format("{}: must be one of {}", key, all));
}

base::Result<std::vector<std::string>> texts_at(const toml::table& table, std::string_view key) {
  const auto* array = table[key].as_array();
  if (!array || array->empty()) {
    return invalid(fmt::format("{}: must be a list of texts, at least one", key));
  }
  if (array->size() > kExamples) return too_large(fmt::format("{}: over {}", key, kExamples));
  std::vector<std::string> out;
  for (const auto& node : *array) {
    const auto* text = node.as_string();
    if (!text || !base::is_utf8(text->get())) {
      return invalid(fmt::format("{}: must be a list of texts, at least one", key));
    }
    if (text->get().size() > kExampleBytes) {
      return too_large(fmt::format("{}: a text over {} bytes", key, kExampleBytes));
    }
    out.push_back(text->get());
  }
  return out;
}

base::Result<Where> where_at(const toml::table& table) {
  ASSIGN_OR_RETURN(auto places, texts_at(table, "where"));
  Where where;
  for (const std::string& place : places) {
    bool* flag = place == "arguments"     ? &where.arguments
                 : place == "result"      ? &where.result
                 : place == "description" ? &where.description
                                          : nullptr;
    if (!flag || *flag) {
      return invalid("where: must list arguments, result or description, each once");
    }
    *flag = true;
  }
  return where;
}

// What cannot be carried out where the rule looks must not be promised.
base::Status check_action(const Rule& rule) {
  if (rule.action == RuleAction::kConsent && rule.where.result) {
    return invalid("action: nobody can be asked about a result: not consent with where result");
  }
  if (rule.where.description && rule.action != RuleAction::kDeny) {
    return invalid("action: must be deny with where description");
  }
  return {};
}

base::Status fill(Rule& rule, const toml::table& table) {
  RETURN_IF_ERROR(only(
      table, {"id", "severity", "kind", "where", "pattern", "action", "check", "matches", "misses"},
      ""));
  ASSIGN_OR_RETURN(rule.severity, word_at(table, "severity", kSeverities));
  ASSIGN_OR_RETURN(rule.kind, word_at(table, "kind", kKinds));
  ASSIGN_OR_RETURN(rule.where, where_at(table));
  ASSIGN_OR_RETURN(rule.pattern, text_at(table, "pattern"));
  if (rule.pattern.empty()) return invalid("pattern: must not be empty");
  if (rule.pattern.size() > kPatternBytes) {
    return too_large(fmt::format("pattern: over {} bytes", kPatternBytes));
  }
  ASSIGN_OR_RETURN(rule.action, word_at(table, "action", kActions));
  if (table.contains("check")) {
    ASSIGN_OR_RETURN(rule.check, word_at(table, "check", kChecks));
  }
  ASSIGN_OR_RETURN(rule.matches, texts_at(table, "matches"));
  ASSIGN_OR_RETURN(rule.misses, texts_at(table, "misses"));
  return check_action(rule);
}

base::Result<Rule> rule_of(const toml::node& node, std::size_t number) {
  const auto* table = node.as_table();
  auto id = table ? text_at(*table, "id") : base::Result<std::string>(invalid("must be a table"));
  if (id && !is_id(*id)) id = invalid("id: must be a letter and 63 of a-z, 0-9, '.', '_', '-'");
  if (!id) return std::move(id).error().with_context(fmt::format("rule {}", number));
  Rule rule;
  rule.id = std::move(*id);
  auto filled = fill(rule, *table);
  if (!filled) return std::move(filled).error().with_context("rule " + rule.id);
  return rule;
}

base::Result<RuleFile> file_of(const toml::table& table) {
  RETURN_IF_ERROR(only(table, {"format", "name", "version", "rule"}, ""));
  ASSIGN_OR_RETURN(std::string format, text_at(table, "format"));
  if (format != kFormat) return invalid(fmt::format("format: must be {}", kFormat));
  RuleFile file;
  ASSIGN_OR_RETURN(file.name, text_at(table, "name"));
  if (!is_id(file.name)) {
    return invalid("name: must be a letter and 63 of a-z, 0-9, '.', '_', '-'");
  }
  const auto* version = table["version"].as_integer();
  if (!version || version->get() < 1) return invalid("version: must be an integer from 1");
  file.version = version->get();
  const auto* rules = table["rule"].as_array();
  if (!rules || rules->empty()) return invalid("rule: must be a list of tables, at least one");
  if (rules->size() > kRulesOfFile) return too_large(fmt::format("rule: over {}", kRulesOfFile));
  std::set<std::string> ids;
  for (const auto& node : *rules) {
    ASSIGN_OR_RETURN(Rule rule, rule_of(node, ids.size() + 1));
    if (!ids.insert(rule.id).second) return invalid("rule " + rule.id + ": the id is taken");
    file.rules.push_back(std::move(rule));
  }
  return file;
}

}  // namespace

base::Result<RuleFile> parse_rule_file(std::string_view text) {
  if (text.size() > kRuleFileBytes) {
    return too_large(fmt::format("a rule file is over {} bytes", kRuleFileBytes));
  }
  try {
    return file_of(toml::parse(text));
  } catch (const toml::parse_error& error) {
    auto begin = error.source().begin;
    return invalid(fmt::format("line {}, column {}: is not TOML", begin.line, begin.column));
  }
}

}  // namespace tool::guard

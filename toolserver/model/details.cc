#include "toolserver/model/details.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/core/text.h"
#include "base/json/fields.h"

namespace tool {
namespace {

namespace json = base::json;
using base::ErrorKind;
using base::fail;
using base::json::Fields;

constexpr std::size_t kPatternBytes = 1024;
constexpr std::size_t kNameBytes = 128;

base::Error broken(const std::string& path, std::string_view rule) {
  return fail(ErrorKind::kInvalid, fmt::format("{}: {}", path, rule));
}

// A member that nobody knows may be a bound that somebody relies on.
base::Status only(const json::Object& object, const std::string& path,
                  std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object) {
    if (std::ranges::find(known, std::string_view(key)) == known.end()) {
      return broken(path, "a member that is not understood");
    }
    if (value.is_null()) return broken(path, "must have no null");
  }
  return {};
}

bool is_line(std::string_view text) {
  return !text.empty() && text.size() <= Details::kTextBytes && base::is_utf8(text) &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

base::Result<std::optional<double>> bound(const Fields& rule, std::string_view key) {
  const json::Value* value = rule.find(key);
  if (value == nullptr) return std::optional<double>();
  if (!value->is_number()) return broken(rule.path_of(key), "must be a number");
  return std::optional(value->to_number<double>());
}

// As ArgumentRules compares them: a text as it is, anything else as JSON.
base::Result<std::vector<std::string>> values_of(const Fields& rule) {
  std::vector<std::string> out;
  ASSIGN_OR_RETURN(const json::Array* list, rule.opt_array("values"));
  if (list == nullptr) return out;
  const std::string path = rule.path_of("values");
  if (list->empty() || list->size() > Details::kMost) return broken(path, "must be 1 to 64 values");
  for (const auto& one : *list) {
    if (one.is_structured() || one.is_null()) {
      return broken(path, "must hold texts, numbers, true or false");
    }
    out.push_back(one.is_string() ? std::string(one.get_string()) : json::write(one));
    if (out.back().size() > Details::kTextBytes) return broken(path, "a value is too long");
  }
  return out;
}

base::Result<std::vector<std::string>> tables_of(const Fields& rule) {
  std::vector<std::string> out;
  if (!rule.has("tables")) return out;
  const std::string path = rule.path_of("tables");
  ASSIGN_OR_RETURN(out, rule.strings("tables"));
  if (out.empty() || out.size() > Details::kMost) return broken(path, "must be 1 to 64 tables");
  for (std::string& table : out) {
    if (!is_line(table) || !std::ranges::all_of(table, [](unsigned char c) { return c < 0x80; })) {
      return broken(path, "must hold names of tables");
    }
    std::ranges::transform(table, table.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    });
  }
  return out;
}

base::Status check(const ArgumentRule& rule, const std::string& path) {
  if (rule.within.empty() && rule.pattern.empty() && !rule.min && !rule.max &&
      rule.values.empty() && rule.tables.empty()) {
    return broken(path, "must have one of within, pattern, min, max, values, tables");
  }
  if (!rule.within.empty() && (!is_line(rule.within) || !is_rule_folder(rule.within))) {
    return broken(path + ".within", "must be a folder in normal form, or .");
  }
  if (rule.pattern.size() > kPatternBytes) return broken(path + ".pattern", "is too long");
  if (rule.min && rule.max && *rule.min > *rule.max) return broken(path, "min is over max");
  return {};
}

base::Result<ArgumentRule> read_rule(const json::Value& value, const std::string& argument,
                                     const std::string& path) {
  ASSIGN_OR_RETURN(Fields fields, Fields::of(value, path));
  RETURN_IF_ERROR(only(value.get_object(), path,
                       {"within", "pattern", "min", "max", "values", "tables", "optional"}));
  ArgumentRule rule{.tool = "*", .argument = argument};
  ASSIGN_OR_RETURN(auto within, fields.opt_string("within"));
  ASSIGN_OR_RETURN(auto pattern, fields.opt_string("pattern"));
  // Empty is no rule, and whoever wrote it meant one.
  if ((within && within->empty()) || (pattern && pattern->empty())) {
    return broken(path, "must have no empty rule");
  }
  rule.within = std::move(within).value_or("");
  rule.pattern = std::move(pattern).value_or("");
  ASSIGN_OR_RETURN(rule.min, bound(fields, "min"));
  ASSIGN_OR_RETURN(rule.max, bound(fields, "max"));
  ASSIGN_OR_RETURN(rule.values, values_of(fields));
  ASSIGN_OR_RETURN(rule.tables, tables_of(fields));
  ASSIGN_OR_RETURN(auto is_optional, fields.opt_boolean("optional"));
  rule.is_optional = is_optional.value_or(false);
  RETURN_IF_ERROR(check(rule, path));
  return rule;
}

// The `args` of a detail: a rule for each argument.
base::Result<Detail> read_args(ToolId tool, const json::Value& value, const std::string& path) {
  const json::Object* args = value.if_object();
  if (args == nullptr) return broken(path, "must be an object");
  if (args->size() > Details::kMost) return broken(path, "must have at most 64 arguments");
  std::vector<ArgumentRule> rules;
  for (const auto& [key, one] : *args) {
    std::string name(key);
    if (name.empty() || name.size() > kNameBytes) return broken(path, "must name arguments");
    ASSIGN_OR_RETURN(ArgumentRule rule, read_rule(one, name, path + "." + name));
    rules.push_back(std::move(rule));
  }
  ASSIGN_OR_RETURN(ArgumentRules compiled, ArgumentRules::compile(rules));
  return Detail{std::move(tool), std::move(compiled), *args};
}

base::Result<Detail> read_detail(const json::Value& value, const std::string& path) {
  ASSIGN_OR_RETURN(Fields fields, Fields::of(value, path));
  ASSIGN_OR_RETURN(std::string type, fields.string("type"));
  if (type != kDetailType) return broken(path + ".type", "is not understood");
  RETURN_IF_ERROR(only(value.get_object(), path, {"type", "tool", "args"}));
  ASSIGN_OR_RETURN(std::string named, fields.string("tool"));
  auto tool = ToolId::parse(named);
  if (!tool) return broken(path + ".tool", "must name one tool");
  static const json::Value kNone = json::Object();
  const json::Value* args = fields.find("args");
  return read_args(std::move(*tool), args == nullptr ? kNone : *args, path + ".args");
}

base::Result<const json::Array*> list_of(const json::Value& value, const std::string& path,
                                         std::size_t most) {
  const json::Array* list = value.if_array();
  if (list == nullptr || list->size() > most) {
    return broken(path, fmt::format("must be a list of at most {}", most));
  }
  return list;
}

bool names(const std::vector<Detail>& set, const ToolId& tool) {
  return std::ranges::any_of(set, [&](const Detail& one) { return one.tool == tool; });
}

json::Value to_json(const Detail& detail) {
  return json::Object{{"type", kDetailType}, {"tool", detail.tool.text()}, {"args", detail.args}};
}

bool same(const std::vector<Detail>& a, const std::vector<Detail>& b) {
  return std::ranges::equal(
      a, b, [](const Detail& x, const Detail& y) { return x.tool == y.tool && x.args == y.args; });
}

}  // namespace

base::Result<Details> Details::parse(const json::Value& claim) {
  const std::string path = "authorization_details";
  ASSIGN_OR_RETURN(const json::Array* list, list_of(claim, path, kMost));
  std::vector<Detail> details;
  for (std::size_t i = 0; i < list->size(); ++i) {
    ASSIGN_OR_RETURN(Detail one, read_detail((*list)[i], fmt::format("{}[{}]", path, i)));
    details.push_back(std::move(one));
  }
  return of(std::move(details));
}

base::Result<Details> Details::parse_sets(const ToolId& tool, const json::Value& sets) {
  const std::string path = "details";
  ASSIGN_OR_RETURN(const json::Array* all, list_of(sets, path, kMostSets));
  Details out;
  for (std::size_t i = 0; i < all->size(); ++i) {
    std::string at = fmt::format("{}[{}]", path, i);
    ASSIGN_OR_RETURN(const json::Array* list, list_of((*all)[i], at, kMost));
    // An empty set of alternatives would allow nothing, and reads like no bound.
    if (list->empty()) return broken(at, "must not be empty");
    std::vector<Detail> details;
    for (const auto& args : *list) {
      ASSIGN_OR_RETURN(Detail one, read_args(tool, args, at));
      details.push_back(std::move(one));
    }
    out = out.with(of(std::move(details)));
  }
  return out;
}

Details Details::of(std::vector<Detail> details) {
  Details out;
  if (!details.empty()) {
    out.sets_.push_back(std::make_shared<const std::vector<Detail>>(std::move(details)));
  }
  return out;
}

bool Details::names(const ToolId& tool) const {
  return std::ranges::any_of(sets_, [&](const Set& set) { return tool::names(*set, tool); });
}

Details Details::with(const Details& other) const {
  Details out = *this;
  for (const Set& set : other.sets_) {
    bool is_there =
        std::ranges::any_of(out.sets_, [&](const Set& mine) { return same(*mine, *set); });
    if (!is_there) out.sets_.push_back(set);
  }
  return out;
}

bool Details::admits(const Details& others) const {
  return std::ranges::all_of(sets_, [&](const Set& mine) {
    return std::ranges::any_of(others.sets_, [&](const Set& set) { return same(*mine, *set); });
  });
}

json::Array Details::json() const {
  json::Array out;
  for (const Set& set : sets_) {
    json::Array list;
    for (const Detail& one : *set) list.push_back(to_json(one));
    out.emplace_back(std::move(list));
  }
  return out;
}

json::Array Details::sets_of(const ToolId& tool) const {
  json::Array out;
  for (const Set& set : sets_) {
    json::Array list;
    for (const Detail& one : *set) {
      if (one.tool == tool) list.emplace_back(one.args);
    }
    if (!list.empty()) out.emplace_back(std::move(list));
  }
  return out;
}

}  // namespace tool

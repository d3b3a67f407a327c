#include "toolserver/workflow/tool_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "toolserver/pipeline/schema.h"

namespace tool::workflow {
namespace {

namespace json = base::json;

Fault shape(std::string message) { return refuse(Code::kShape, std::move(message)); }

// Words that say more about a place than its own `properties` and `items`.
bool is_plain(const json::Object& schema) {
  constexpr std::array<std::string_view, 13> kMore{"$ref",
                                                   "$dynamicRef",
                                                   "oneOf",
                                                   "anyOf",
                                                   "allOf",
                                                   "not",
                                                   "if",
                                                   "then",
                                                   "else",
                                                   "dependentSchemas",
                                                   "dependentRequired",
                                                   "patternProperties",
                                                   "prefixItems"};
  return std::ranges::none_of(kMore, [&](auto word) { return schema.contains(word); });
}

const json::Object* object_of(const json::Object& schema, std::string_view member) {
  const auto* found = schema.if_contains(member);
  return found != nullptr && found->is_object() ? &found->get_object() : nullptr;
}

// Types that the schema allows; empty: any.
std::set<std::string> types_of(const json::Object& schema) {
  std::set<std::string> out;
  const auto* type = schema.if_contains("type");
  if (type == nullptr) return out;
  if (type->is_string()) out.emplace(type->get_string());
  if (type->is_array()) {
    for (const auto& one : type->get_array()) {
      if (one.is_string()) out.emplace(one.get_string());
    }
  }
  return out;
}

// Whether a value of one of `given` can be one of `wanted`.
bool can_be(const std::set<std::string>& given, const std::set<std::string>& wanted) {
  if (given.empty() || wanted.empty()) return true;
  return std::ranges::any_of(given, [&](const std::string& one) {
    if (wanted.contains(one)) return true;
    return (one == "integer" && wanted.contains("number")) ||
           (one == "number" && wanted.contains("integer"));
  });
}

class Checker {
 public:
  Checker(const Workflow& workflow, const Scopes& scopes, const FindTool& find)
      : workflow_(workflow), scopes_(scopes), find_(find) {}

  Outcome<void> check() {
    // All tools are found first: outputs of later steps are looked at, too.
    for (const Step& step : workflow_.steps) {
      if (auto found = find(step.use, "steps." + step.name); !found) return found;
      if (!step.undo) continue;
      if (auto found = find(*step.undo, "steps." + step.name + ".undo"); !found) return found;
    }
    for (const Step& step : workflow_.steps) {
      if (auto fits = check_use(step.use, "steps." + step.name); !fits) return fits;
      if (!step.undo) continue;
      if (auto fits = check_use(*step.undo, "steps." + step.name + ".undo"); !fits) return fits;
    }
    return {};
  }

 private:
  Outcome<void> find(const ToolUse& use, const std::string& path) {
    auto found = records_.find(use.tool.text());
    if (found == records_.end()) {
      auto record = find_(use.tool.text());
      if (!record) {
        record.error().message = path + ".tool: " + use.tool.text() + ": " + record.error().message;
        return std::move(record).error();
      }
      found = records_.emplace(use.tool.text(), std::move(*record)).first;
    }
    if (!scopes_.allows_invoke(use.tool)) {
      return refuse(Code::kScope, path + ".tool: needs the scope tool:invoke:" + use.tool.text());
    }
    return {};
  }

  Outcome<void> check_use(const ToolUse& use, const std::string& path) const {
    const json::Object& record = records_.at(use.tool.text());
    if (use.retry.attempts > 1 && !says_again(record)) {
      return shape(path + ".retry: " + use.tool.text() +
                   " does not say that it can be called twice (idempotentHint, readOnlyHint)");
    }
    const auto* schema = object_of(record, "inputSchema");
    if (schema == nullptr) return {};
    json::Value args(use.args);
    std::set<std::string> open;  // Members with a hole in them.
    auto seen =
        each_hole(args, [&](const std::string& place, const Reference& from) -> Outcome<void> {
          auto at = Reference::parse("/input" + place);
          if (!at) return shape(place + ": " + at.error().message);
          if (!at->below.empty()) open.insert(at->below[0]);
          auto fits = check_hole(*schema, at->below, from);
          if (!fits) fits.error().message.insert(0, place + ": ");
          return fits;
        });
    if (!seen) {
      seen.error().message.insert(0, path + ".args");
      return seen;
    }
    return check_literals(*schema, use.args, open, path);
  }

  static bool says_again(const json::Object& record) {
    const auto* annotations = object_of(record, "annotations");
    if (annotations == nullptr) return false;
    for (std::string_view word : {"idempotentHint", "readOnlyHint"}) {
      const auto* hint = annotations->if_contains(word);
      if (hint != nullptr && hint->is_bool() && hint->get_bool()) return true;
    }
    return false;
  }

  Outcome<void> check_hole(const json::Object& input, const std::vector<std::string>& tokens,
                           const Reference& from) const {
    auto wanted = schema_at(input, tokens);
    if (!wanted) return std::move(wanted).error();
    auto given = given_by(from);
    if (!given) return std::move(given).error();
    if (*wanted == nullptr || can_be(*given, types_of(**wanted))) return {};
    return shape(fmt::format("{} gives {}, and {} is wanted", from.pointer,
                             fmt::join(*given, " or "), fmt::join(types_of(**wanted), " or ")));
  }

  // The types that a reference can lead to; empty: any.
  Outcome<std::set<std::string>> given_by(const Reference& from) const {
    using Types = std::set<std::string>;
    const json::Object* schema = nullptr;
    std::vector<std::string> below = from.below;
    if (from.step.empty()) {
      schema = workflow_.input ? &*workflow_.input : nullptr;
    } else if (below.empty()) {
      return Types{"object"};
    } else if (below[0] == "status") {
      return Types{"string"};
    } else if (below[0] == "is_error") {
      return Types{"boolean"};
    } else if (below[0] == "content") {
      return below.size() == 1 ? Types{"array"} : Types{};
    } else {
      const Step& step = workflow_.steps[*workflow_.find(from.step)];
      schema = object_of(records_.at(step.use.tool.text()), "outputSchema");
      below.erase(below.begin());
    }
    if (schema == nullptr) return Types{};
    auto found = schema_at(*schema, below);
    if (!found) return shape(from.pointer + " leads to nothing: " + found.error().message);
    return *found == nullptr ? Types{} : types_of(**found);
  }

  // The arguments without holes, against a schema that asks nothing of the others.
  static Outcome<void> check_literals(const json::Object& schema, const json::Object& args,
                                      const std::set<std::string>& open, const std::string& path) {
    json::Object relaxed(schema);
    json::Object values(args);
    if (!open.empty()) {
      if (!is_plain(schema)) return {};
      auto& properties = relaxed["properties"];
      if (!properties.is_object()) properties.emplace_object();
      for (const auto& name : open) {
        bool is_known = properties.get_object().contains(name);
        const auto* rest = schema.if_contains("additionalProperties");
        bool takes_others = rest == nullptr || !rest->is_bool() || rest->get_bool();
        if (is_known || takes_others) properties.get_object()[name] = true;
        values[name] = nullptr;
      }
    }
    // One that has "$literal" in it is not what is sent.
    for (const auto& member : args) {
      std::string text = json::write(member.value());
      if (text.contains("\"$literal\"")) return {};
    }
    auto compiled = pipeline::Schema::compile(relaxed);
    if (!compiled) return {};
    auto fits = compiled->check(json::Value(values), path + ".args");
    if (!fits) return to_fault(std::move(fits).error());
    return {};
  }

  const Workflow& workflow_;
  const Scopes& scopes_;
  const FindTool& find_;
  std::map<std::string, json::Object> records_;
};

}  // namespace

Outcome<const json::Object*> schema_at(const json::Object& schema,
                                       const std::vector<std::string>& tokens) {
  const json::Object* at = &schema;
  for (const auto& token : tokens) {
    if (!is_plain(*at)) return nullptr;
    auto types = types_of(*at);
    if (!types.empty() && !types.contains("object") && !types.contains("array")) {
      return shape("\"" + token + "\" is below a value of another kind");
    }
    const auto* items = object_of(*at, "items");
    bool is_list = types.contains("array") && !types.contains("object");
    if (is_list && !std::ranges::all_of(token, [](char c) { return c >= '0' && c <= '9'; })) {
      return shape("\"" + token + "\" is no place in a list");
    }
    if (is_list) {
      if (items == nullptr) return nullptr;
      at = items;
      continue;
    }
    const auto* properties = object_of(*at, "properties");
    const auto* next =
        properties == nullptr ? nullptr : properties->if_contains(std::string_view(token));
    if (next != nullptr) {
      if (!next->is_object()) return nullptr;
      at = &next->get_object();
      continue;
    }
    const auto* rest = at->if_contains("additionalProperties");
    if (rest != nullptr && rest->is_bool() && !rest->get_bool()) {
      return shape("there is no member \"" + token + "\"");
    }
    return nullptr;
  }
  return at;
}

Outcome<void> check_tools(const Workflow& workflow, const Scopes& scopes, const FindTool& find) {
  return Checker(workflow, scopes, find).check();
}

Outcome<void> check_input(const Workflow& workflow, const json::Value& input) {
  if (!workflow.input) {
    bool is_empty = input.is_null() || (input.is_object() && input.get_object().empty());
    return is_empty ? Outcome<void>() : shape("input: this workflow takes none");
  }
  auto schema = pipeline::Schema::compile(*workflow.input);
  if (!schema) return to_fault(std::move(schema).error().with_context("workflow.input"));
  if (!input.is_object()) return shape("input: must be an object");
  auto fits = schema->check(input, "input");
  if (!fits) return to_fault(std::move(fits).error());
  return {};
}

}  // namespace tool::workflow

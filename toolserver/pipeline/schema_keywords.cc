// What each keyword takes as its value, and where it is kept. The list is whole: what does
// not stand in it is refused.

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/json/canonical.h"
#include "toolserver/pipeline/schema_compiler.h"

namespace tool::pipeline {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxNames = 2'000;
constexpr std::size_t kMaxEnum = 256;
constexpr std::size_t kMaxBranches = 16;
constexpr double kMaxCount = 1e15;
constexpr std::size_t kMaxPattern = 1'024;
constexpr std::int64_t kPatternMemory = 1 << 20;

}  // namespace

const std::array<SchemaCompiler::Keyword, 58> SchemaCompiler::kKeywords = {{
    {"type", &SchemaCompiler::type},
    {"enum", &SchemaCompiler::enumeration},
    {"const", &SchemaCompiler::constant},
    {"properties", &SchemaCompiler::properties},
    {"required", &SchemaCompiler::required},
    {"patternProperties", &SchemaCompiler::pattern_properties},
    {"additionalProperties", &SchemaCompiler::one<&SchemaNode::additional>},
    {"unevaluatedProperties", &SchemaCompiler::one<&SchemaNode::unevaluated_members>},
    {"propertyNames", &SchemaCompiler::one<&SchemaNode::names>},
    {"dependentRequired", &SchemaCompiler::dependent_required},
    {"dependentSchemas", &SchemaCompiler::dependent_schemas},
    {"items", &SchemaCompiler::one<&SchemaNode::items>},
    {"unevaluatedItems", &SchemaCompiler::one<&SchemaNode::unevaluated_elements>},
    {"prefixItems", &SchemaCompiler::branches<&SchemaNode::prefix>},
    {"contains", &SchemaCompiler::one<&SchemaNode::contains>},
    {"minContains", &SchemaCompiler::count<&SchemaNode::contained, &CountBounds::minimum>},
    {"maxContains", &SchemaCompiler::count<&SchemaNode::contained, &CountBounds::maximum>},
    {"uniqueItems", &SchemaCompiler::unique},
    {"pattern", &SchemaCompiler::pattern},
    {"oneOf", &SchemaCompiler::branches<&SchemaNode::one_of>},
    {"anyOf", &SchemaCompiler::branches<&SchemaNode::any_of>},
    {"allOf", &SchemaCompiler::branches<&SchemaNode::all_of>},
    {"not", &SchemaCompiler::one<&SchemaNode::negated>},
    {"if", &SchemaCompiler::one<&SchemaNode::condition>},
    {"then", &SchemaCompiler::one<&SchemaNode::then>},
    {"else", &SchemaCompiler::one<&SchemaNode::otherwise>},
    {"multipleOf", &SchemaCompiler::multiple},
    {"$ref", &SchemaCompiler::reference<AnchorKind::kPlain>},
    {"$dynamicRef", &SchemaCompiler::reference<AnchorKind::kDynamic>},
    {"$anchor", &SchemaCompiler::anchor<AnchorKind::kPlain>},
    {"$dynamicAnchor", &SchemaCompiler::anchor<AnchorKind::kDynamic>},
    {"$defs", &SchemaCompiler::definitions},
    {"definitions", &SchemaCompiler::definitions},
    {"minItems", &SchemaCompiler::count<&SchemaNode::elements, &CountBounds::minimum>},
    {"maxItems", &SchemaCompiler::count<&SchemaNode::elements, &CountBounds::maximum>},
    {"minProperties", &SchemaCompiler::count<&SchemaNode::members, &CountBounds::minimum>},
    {"maxProperties", &SchemaCompiler::count<&SchemaNode::members, &CountBounds::maximum>},
    {"minLength", &SchemaCompiler::count<&SchemaNode::characters, &CountBounds::minimum>},
    {"maxLength", &SchemaCompiler::count<&SchemaNode::characters, &CountBounds::maximum>},
    {"minimum", &SchemaCompiler::bound<&NumberBounds::minimum>},
    {"maximum", &SchemaCompiler::bound<&NumberBounds::maximum>},
    {"exclusiveMinimum", &SchemaCompiler::bound<&NumberBounds::above>},
    {"exclusiveMaximum", &SchemaCompiler::bound<&NumberBounds::below>},
    // Read before the others: it says what their references mean.
    {"$id", nullptr},
    {"$schema", nullptr},
    // Of meta-schemas; elsewhere it must be ignored. Source: "Core", 8.1.2.
    {"$vocabulary", nullptr},
    {"$comment", nullptr},
    {"title", nullptr},
    {"description", nullptr},
    {"default", nullptr},
    {"examples", nullptr},
    {"deprecated", nullptr},
    {"readOnly", nullptr},
    {"writeOnly", nullptr},
    // An annotation unless a schema's vocabulary says else; none here does.
    {"format", nullptr},
    {"contentMediaType", nullptr},
    {"contentEncoding", nullptr},
    {"contentSchema", nullptr},
}};

const SchemaCompiler::Keyword* SchemaCompiler::find(std::string_view name) {
  const auto* found = std::ranges::find(kKeywords, name, &Keyword::name);
  return found == kKeywords.end() ? nullptr : found;
}

Status SchemaCompiler::type(SchemaNode& node, const Value& value) {
  static constexpr std::array<std::pair<std::string_view, std::uint8_t>, 7> kTypes = {{
      {"null", kNull},
      {"boolean", kBoolean},
      {"integer", kInteger},
      {"number", kInteger | kNumber},
      {"string", kString},
      {"array", kArray},
      {"object", kObject},
  }};
  auto add = [&](const Value& name) {
    const auto* found = name.is_string()
                            ? std::ranges::find(kTypes, text_of(name.get_string()),
                                                &std::pair<std::string_view, std::uint8_t>::first)
                            : kTypes.end();
    if (found == kTypes.end()) return false;
    node.types |= found->second;
    if (!node.types_text.empty()) node.types_text += " or ";
    node.types_text += found->first;
    return true;
  };
  if (!value.is_array()) return add(value) ? Status{} : Status(bad("type: no such type"));
  if (value.get_array().empty() || !std::ranges::all_of(value.get_array(), add)) {
    return bad("type: no such type");
  }
  return {};
}

Status SchemaCompiler::enumeration(SchemaNode& node, const Value& value) {
  if (!value.is_array() || value.get_array().empty()) return bad("enum: must be a list");
  if (value.get_array().size() > kMaxEnum) return too_large("enum: more than 256 values");
  auto& allowed = node.allowed.emplace();
  for (const auto& one : value.get_array()) {
    ASSIGN_OR_RETURN(auto text, base::json::canonical(one));
    allowed.push_back(std::move(text));
  }
  return {};
}

Status SchemaCompiler::constant(SchemaNode& node, const Value& value) {
  ASSIGN_OR_RETURN(auto text, base::json::canonical(value));
  node.constant = std::move(text);
  return {};
}

Status SchemaCompiler::properties(SchemaNode& node, const Value& value) {
  if (!value.is_object()) return bad("properties: must be an object");
  for (const auto& member : value.get_object()) {
    std::string name(text_of(member.key()));
    ASSIGN_OR_RETURN(node.properties[name], child(member.value(), {"properties", name}));
  }
  return {};
}

Status SchemaCompiler::definitions(SchemaNode&, const Value& value) {
  if (!value.is_object()) return bad("$defs: must be an object");
  std::string_view keyword = keyword_;
  for (const auto& member : value.get_object()) {
    ASSIGN_OR_RETURN([[maybe_unused]] auto node,
                     child(member.value(), {keyword, text_of(member.key())}));
  }
  return {};
}

template <AnchorKind kind>
Status SchemaCompiler::reference(SchemaNode& node, const Value& value) {
  if (!value.is_string()) return bad(std::string(keyword_) + ": must be a string");
  references_.push_back({.from = &node,
                         .kind = kind,
                         .to = std::string(text_of(value.get_string())),
                         .at = pointer_,
                         .resource = resource_});
  return {};
}

template <AnchorKind kind>
Status SchemaCompiler::anchor(SchemaNode& node, const Value& value) {
  if (!value.is_string()) return bad(std::string(keyword_) + ": must be a string");
  auto added = resources_.add_anchor(*resource_, text_of(value.get_string()), &node, kind);
  if (!added) {
    return std::move(added).error().with_context(where() + ": " + std::string(keyword_));
  }
  return {};
}

Result<std::vector<std::string>> SchemaCompiler::names(const Value& value,
                                                       std::string_view keyword) const {
  std::string rule = std::string(keyword) + ": must be a list of names";
  if (!value.is_array()) return bad(rule);
  if (value.get_array().size() > kMaxNames)
    return too_large(std::string(keyword) + ": too many names");
  std::vector<std::string> out;
  for (const auto& name : value.get_array()) {
    if (!name.is_string()) return bad(rule);
    out.emplace_back(text_of(name.get_string()));
  }
  return out;
}

Status SchemaCompiler::required(SchemaNode& node, const Value& value) {
  ASSIGN_OR_RETURN(node.required, names(value, "required"));
  return {};
}

Status SchemaCompiler::pattern_properties(SchemaNode& node, const Value& value) {
  if (!value.is_object()) return bad("patternProperties: must be an object");
  for (const auto& member : value.get_object()) {
    ASSIGN_OR_RETURN(auto compiled, expression(text_of(member.key())));
    ASSIGN_OR_RETURN(auto schema,
                     child(member.value(), {"patternProperties", text_of(member.key())}));
    node.pattern_properties.emplace_back(std::move(compiled), schema);
  }
  return {};
}

Status SchemaCompiler::dependent_required(SchemaNode& node, const Value& value) {
  if (!value.is_object()) return bad("dependentRequired: must be an object");
  for (const auto& member : value.get_object()) {
    ASSIGN_OR_RETURN(auto others, names(member.value(), "dependentRequired"));
    node.dependent_required.emplace_back(std::string(text_of(member.key())), std::move(others));
  }
  return {};
}

Status SchemaCompiler::dependent_schemas(SchemaNode& node, const Value& value) {
  if (!value.is_object()) return bad("dependentSchemas: must be an object");
  for (const auto& member : value.get_object()) {
    ASSIGN_OR_RETURN(auto schema,
                     child(member.value(), {"dependentSchemas", text_of(member.key())}));
    node.dependent_schemas.emplace_back(std::string(text_of(member.key())), schema);
  }
  return {};
}

template <NodePtr SchemaNode::* member>
Status SchemaCompiler::one(SchemaNode& node, const Value& value) {
  ASSIGN_OR_RETURN(node.*member, child(value, {keyword_}));
  return {};
}

Status SchemaCompiler::unique(SchemaNode& node, const Value& value) {
  if (!value.is_bool()) return bad("uniqueItems: must be a boolean");
  node.are_elements_unique = value.get_bool();
  return {};
}

Result<std::unique_ptr<const RE2>> SchemaCompiler::expression(std::string_view text) const {
  if (text.size() > kMaxPattern) return too_large("pattern: longer than 1 KiB");
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  auto compiled = std::make_unique<const RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!compiled->ok()) return fail(ErrorKind::kUnsupported, "schema: pattern: not for RE2");
  return compiled;
}

Status SchemaCompiler::pattern(SchemaNode& node, const Value& value) {
  if (!value.is_string()) return bad("pattern: must be a string");
  ASSIGN_OR_RETURN(node.pattern, expression(text_of(value.get_string())));
  return {};
}

Status SchemaCompiler::multiple(SchemaNode& node, const Value& value) {
  bool positive =
      (value.is_int64() && value.get_int64() > 0) || (value.is_double() && value.get_double() > 0);
  if (!positive) return bad("multipleOf: must be a number above 0");
  node.multiple_of = value;
  return {};
}

template <std::vector<NodePtr> SchemaNode::* member>
Status SchemaCompiler::branches(SchemaNode& node, const Value& value) {
  if (!value.is_array() || value.get_array().empty()) return bad("branches: must be a list");
  if (value.get_array().size() > kMaxBranches) return too_large("branches: more than 16");
  std::string_view keyword = keyword_;
  for (const auto& branch : value.get_array()) {
    std::string index = std::to_string((node.*member).size());
    ASSIGN_OR_RETURN(auto compiled, child(branch, {keyword, index}));
    (node.*member).push_back(compiled);
  }
  return {};
}

template <auto outer, auto inner>
Status SchemaCompiler::count(SchemaNode& node, const Value& value) {
  // A schema of ours may hold a std::size_t, one from outside a signed number.
  if (value.is_uint64()) {
    (node.*outer).*inner = value.get_uint64();
    return {};
  }
  // "2.0" is the number 2.
  if (value.is_double() && value.get_double() >= 0 && value.get_double() <= kMaxCount &&
      std::trunc(value.get_double()) == value.get_double()) {
    (node.*outer).*inner = static_cast<std::uint64_t>(value.get_double());
    return {};
  }
  if (!value.is_int64() || value.get_int64() < 0) return bad("a count must be 0 or more");
  (node.*outer).*inner = static_cast<std::uint64_t>(value.get_int64());
  return {};
}

template <auto inner>
Status SchemaCompiler::bound(SchemaNode& node, const Value& value) {
  if (!value.is_number()) return bad("a bound must be a number");
  node.number.*inner = value;
  // The parser gives signed numbers where they fit; so must a bound be.
  if (value.is_uint64() && std::in_range<std::int64_t>(value.get_uint64())) {
    node.number.*inner = static_cast<std::int64_t>(value.get_uint64());
  }
  return {};
}

}  // namespace tool::pipeline

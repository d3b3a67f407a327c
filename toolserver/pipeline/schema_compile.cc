#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/core/text.h"
#include "base/json/canonical.h"
#include "base/json/pointer.h"
#include "toolserver/pipeline/schema.h"
#include "toolserver/pipeline/schema_node.h"

namespace tool::pipeline {
namespace {

using base::Error;
using base::ErrorKind;
using base::fail;
using base::Result;
using base::Status;
using base::json::Object;
using base::json::Value;

constexpr std::size_t kMaxNodes = 2'000;
constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxEnum = 256;
constexpr std::size_t kMaxBranches = 16;
constexpr double kMaxCount = 1e15;
constexpr std::size_t kMaxPattern = 1'024;
constexpr std::int64_t kPatternMemory = 1 << 20;

std::string_view view(boost::json::string_view text) { return {text.data(), text.size()}; }

// Makes the nodes of a document: one for each schema in it, known by its JSON
// Pointer.
class Compiler {
 public:
  /// Compiles the whole document, and then what the references point to.
  Result<std::shared_ptr<const SchemaGraph>> compile(const Object& schema);

 private:
  using Handler = Status (Compiler::*)(SchemaNode&, const Value&);
  struct Keyword {
    std::string_view name;
    Handler handle;  // Null for a note.
  };
  static const Keyword* find(std::string_view name);
  static const std::array<Keyword, 55> kKeywords;

  Status type(SchemaNode& node, const Value& value);
  Status enumeration(SchemaNode& node, const Value& value);
  Status constant(SchemaNode& node, const Value& value);
  Status required(SchemaNode& node, const Value& value);
  Status pattern_properties(SchemaNode& node, const Value& value);
  Status dependent_required(SchemaNode& node, const Value& value);
  Status dependent_schemas(SchemaNode& node, const Value& value);
  Status unique(SchemaNode& node, const Value& value);
  Status pattern(SchemaNode& node, const Value& value);
  Status multiple(SchemaNode& node, const Value& value);
  Status properties(SchemaNode& node, const Value& value);
  Status definitions(SchemaNode& node, const Value& value);
  Status reference(SchemaNode& node, const Value& value);
  Status anchor(SchemaNode& node, const Value& value);
  Status id(SchemaNode& node, const Value& value);
  template <NodePtr SchemaNode::* member>
  Status one(SchemaNode& node, const Value& value);
  template <std::vector<NodePtr> SchemaNode::* member>
  Status branches(SchemaNode& node, const Value& value);
  template <auto outer, auto inner>
  Status count(SchemaNode& node, const Value& value);
  template <auto inner>
  Status bound(SchemaNode& node, const Value& value);

  Result<NodePtr> compile(const Value& schema, const std::string& pointer, std::size_t depth);
  Status keywords(SchemaNode& node, const Object& schema);
  // `tokens` lead from the schema that is read to one inside of it.
  Result<NodePtr> child(const Value& schema, std::initializer_list<std::string_view> tokens);
  Result<std::vector<std::string>> names(const Value& value, std::string_view keyword) const;
  Result<std::unique_ptr<const RE2>> expression(std::string_view text) const;
  Status resolve();
  Result<NodePtr> target_of(const std::string& reference);
  Status refuse_circles() const;

  Error bad(std::string rule) const {
    return fail(ErrorKind::kInvalid, "schema: " + shown(pointer_) + ": " + rule);
  }
  static Error too_large(std::string rule) { return fail(ErrorKind::kTooLarge, "schema: " + rule); }
  static std::string shown(const std::string& pointer) {
    return pointer.empty() ? "/" : pointer.substr(0, 256);
  }

  struct Reference {
    SchemaNode* from;
    std::string to;
    std::string at;  // Pointer of the schema that it stands in.
  };

  std::shared_ptr<SchemaGraph> graph_ = std::make_shared<SchemaGraph>();
  const Value* document_ = nullptr;
  std::unordered_map<std::string, NodePtr> by_pointer_;
  std::unordered_map<std::string, NodePtr> by_anchor_;
  std::vector<Reference> references_;
  std::string pointer_;       // Of the schema that is read.
  std::string_view keyword_;  // And the keyword of it.
  std::size_t depth_ = 0;
};

const std::array<Compiler::Keyword, 55> Compiler::kKeywords = {{
    {"type", &Compiler::type},
    {"enum", &Compiler::enumeration},
    {"const", &Compiler::constant},
    {"properties", &Compiler::properties},
    {"required", &Compiler::required},
    {"patternProperties", &Compiler::pattern_properties},
    {"additionalProperties", &Compiler::one<&SchemaNode::additional>},
    {"unevaluatedProperties", &Compiler::one<&SchemaNode::unevaluated_members>},
    {"propertyNames", &Compiler::one<&SchemaNode::names>},
    {"dependentRequired", &Compiler::dependent_required},
    {"dependentSchemas", &Compiler::dependent_schemas},
    {"items", &Compiler::one<&SchemaNode::items>},
    {"unevaluatedItems", &Compiler::one<&SchemaNode::unevaluated_elements>},
    {"prefixItems", &Compiler::branches<&SchemaNode::prefix>},
    {"contains", &Compiler::one<&SchemaNode::contains>},
    {"minContains", &Compiler::count<&SchemaNode::contained, &CountBounds::minimum>},
    {"maxContains", &Compiler::count<&SchemaNode::contained, &CountBounds::maximum>},
    {"uniqueItems", &Compiler::unique},
    {"pattern", &Compiler::pattern},
    {"oneOf", &Compiler::branches<&SchemaNode::one_of>},
    {"anyOf", &Compiler::branches<&SchemaNode::any_of>},
    {"allOf", &Compiler::branches<&SchemaNode::all_of>},
    {"not", &Compiler::one<&SchemaNode::negated>},
    {"if", &Compiler::one<&SchemaNode::condition>},
    {"then", &Compiler::one<&SchemaNode::then>},
    {"else", &Compiler::one<&SchemaNode::otherwise>},
    {"multipleOf", &Compiler::multiple},
    {"$ref", &Compiler::reference},
    {"$anchor", &Compiler::anchor},
    {"$id", &Compiler::id},
    {"$defs", &Compiler::definitions},
    {"definitions", &Compiler::definitions},
    {"minItems", &Compiler::count<&SchemaNode::elements, &CountBounds::minimum>},
    {"maxItems", &Compiler::count<&SchemaNode::elements, &CountBounds::maximum>},
    {"minProperties", &Compiler::count<&SchemaNode::members, &CountBounds::minimum>},
    {"maxProperties", &Compiler::count<&SchemaNode::members, &CountBounds::maximum>},
    {"minLength", &Compiler::count<&SchemaNode::characters, &CountBounds::minimum>},
    {"maxLength", &Compiler::count<&SchemaNode::characters, &CountBounds::maximum>},
    {"minimum", &Compiler::bound<&NumberBounds::minimum>},
    {"maximum", &Compiler::bound<&NumberBounds::maximum>},
    {"exclusiveMinimum", &Compiler::bound<&NumberBounds::above>},
    {"exclusiveMaximum", &Compiler::bound<&NumberBounds::below>},
    {"$schema", nullptr},
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

const Compiler::Keyword* Compiler::find(std::string_view name) {
  const auto* found = std::ranges::find(kKeywords, name, &Keyword::name);
  return found == kKeywords.end() ? nullptr : found;
}

Result<std::shared_ptr<const SchemaGraph>> Compiler::compile(const Object& schema) {
  const Value document(schema);
  document_ = &document;
  ASSIGN_OR_RETURN(graph_->root, compile(document, "", 0));
  RETURN_IF_ERROR(resolve());
  RETURN_IF_ERROR(refuse_circles());
  return std::shared_ptr<const SchemaGraph>(graph_);
}

Result<NodePtr> Compiler::compile(const Value& schema, const std::string& pointer,
                                  std::size_t depth) {
  if (graph_->nodes.size() >= kMaxNodes) return too_large("more than 2000 schemas");
  if (depth > kMaxDepth) return too_large("nested deeper than 16 levels");
  SchemaNode* node = graph_->nodes.emplace_back(std::make_unique<SchemaNode>()).get();
  by_pointer_.emplace(pointer, node);
  if (schema.is_bool()) {
    node->anything = schema.get_bool() ? Anything::kAlways : Anything::kNever;
    return NodePtr(node);
  }
  std::string outer_pointer = std::exchange(pointer_, pointer);
  if (!schema.is_object()) return bad("must be an object or a boolean");
  std::size_t outer_depth = std::exchange(depth_, depth);
  RETURN_IF_ERROR(keywords(*node, schema.get_object()));
  pointer_ = std::move(outer_pointer);
  depth_ = outer_depth;
  return NodePtr(node);
}

Status Compiler::keywords(SchemaNode& node, const Object& schema) {
  for (const auto& member : schema) {
    std::string_view name = view(member.key());
    const Keyword* keyword = find(name);
    if (!keyword && name.starts_with("x-")) continue;
    if (!keyword) {
      return fail(ErrorKind::kUnsupported, "schema: " + shown(pointer_) + ": unknown keyword " +
                                               std::string(name.substr(0, 64)));
    }
    if (!keyword->handle) continue;
    keyword_ = name;
    RETURN_IF_ERROR((this->*keyword->handle)(node, member.value()));
  }
  return {};
}

Result<NodePtr> Compiler::child(const Value& schema,
                                std::initializer_list<std::string_view> tokens) {
  std::string pointer = pointer_;
  for (auto token : tokens) base::json::append_token(pointer, token);
  return compile(schema, pointer, depth_ + 1);
}

// A reference may point to what is no schema's place, such as a member of a
// note; it becomes one by that.
Status Compiler::resolve() {
  for (std::size_t i = 0; i < references_.size(); ++i) {
    Reference reference = references_[i];
    pointer_ = reference.at;
    depth_ = 0;
    ASSIGN_OR_RETURN(reference.from->target, target_of(reference.to));
  }
  return {};
}

Result<NodePtr> Compiler::target_of(const std::string& reference) {
  if (!reference.starts_with('#')) {
    return fail(ErrorKind::kUnsupported,
                "schema: " + shown(pointer_) + ": $ref to another document, which is not fetched");
  }
  auto fragment = base::percent_decode(std::string_view(reference).substr(1));
  if (!fragment) return bad("$ref: is no reference");
  if (!fragment->empty() && fragment->front() != '/') {
    auto anchored = by_anchor_.find(*fragment);
    if (anchored == by_anchor_.end()) return bad("$ref: leads to no schema");
    return anchored->second;
  }
  if (auto known = by_pointer_.find(*fragment); known != by_pointer_.end()) return known->second;
  const Value* schema = base::json::find_at(*document_, *fragment);
  if (schema == nullptr) return bad("$ref: leads to no schema");
  return compile(*schema, *fragment, 1);
}

// The schemas that are checked against the same value as `node`.
template <class Visit>
void each_in_place(const SchemaNode& node, Visit visit) {
  for (NodePtr one : {node.target, node.negated, node.condition, node.then, node.otherwise}) {
    if (one) visit(*one);
  }
  for (const auto* list : {&node.all_of, &node.any_of, &node.one_of}) {
    for (NodePtr one : *list) visit(*one);
  }
  for (const auto& [name, one] : node.dependent_schemas) visit(*one);
}

// Without a step into the value there would be no end. At most as deep as there
// are schemas, so a list of our own stands in for the stack.
Status Compiler::refuse_circles() const {
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  std::unordered_map<NodePtr, State> states;
  for (const auto& start : graph_->nodes) {
    std::vector<NodePtr> stack{start.get()};
    while (!stack.empty()) {
      NodePtr node = stack.back();
      auto& state = states[node];
      if (state != State::kNew) {
        state = State::kDone;
        stack.pop_back();
        continue;
      }
      state = State::kOpen;
      bool circle = false;
      each_in_place(*node, [&](const SchemaNode& next) {
        State seen = states[&next];
        circle = circle || seen == State::kOpen;
        if (seen == State::kNew) stack.push_back(&next);
      });
      if (circle) {
        return fail(ErrorKind::kInvalid, "schema: a $ref leads back to itself");
      }
    }
  }
  return {};
}

Status Compiler::type(SchemaNode& node, const Value& value) {
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
                            ? std::ranges::find(kTypes, view(name.get_string()),
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

Status Compiler::enumeration(SchemaNode& node, const Value& value) {
  if (!value.is_array() || value.get_array().empty()) return bad("enum: must be a list");
  if (value.get_array().size() > kMaxEnum) return too_large("enum: more than 256 values");
  auto& allowed = node.allowed.emplace();
  for (const auto& one : value.get_array()) {
    ASSIGN_OR_RETURN(auto text, base::json::canonical(one));
    allowed.push_back(std::move(text));
  }
  return {};
}

Status Compiler::constant(SchemaNode& node, const Value& value) {
  ASSIGN_OR_RETURN(auto text, base::json::canonical(value));
  node.constant = std::move(text);
  return {};
}

Status Compiler::properties(SchemaNode& node, const Value& value) {
  if (!value.is_object()) return bad("properties: must be an object");
  for (const auto& member : value.get_object()) {
    std::string name(view(member.key()));
    ASSIGN_OR_RETURN(node.properties[name], child(member.value(), {"properties", name}));
  }
  return {};
}

Status Compiler::definitions(SchemaNode&, const Value& value) {
  if (!value.is_object()) return bad("$defs: must be an object");
  std::string_view keyword = keyword_;
  for (const auto& member : value.get_object()) {
    ASSIGN_OR_RETURN([[maybe_unused]] auto node,
                     child(member.value(), {keyword, view(member.key())}));
  }
  return {};
}

Status Compiler::reference(SchemaNode& node, const Value& value) {
  if (!value.is_string()) return bad("$ref: must be a string");
  references_.push_back({&node, std::string(view(value.get_string())), pointer_});
  return {};
}

Status Compiler::anchor(SchemaNode& node, const Value& value) {
  if (!value.is_string()) return bad("$anchor: must be a string");
  bool fresh = by_anchor_.emplace(std::string(view(value.get_string())), &node).second;
  return fresh ? Status{} : Status(bad("$anchor: stands there twice"));
}

// A document within the document: its references would mean another place.
Status Compiler::id(SchemaNode&, const Value& value) {
  if (!value.is_string()) return bad("$id: must be a string");
  if (pointer_.empty()) return {};
  return fail(ErrorKind::kUnsupported, "schema: " + shown(pointer_) + ": $id below the root");
}

Result<std::vector<std::string>> Compiler::names(const Value& value,
                                                 std::string_view keyword) const {
  std::string rule = std::string(keyword) + ": must be a list of names";
  if (!value.is_array()) return bad(rule);
  if (value.get_array().size() > kMaxNodes)
    return too_large(std::string(keyword) + ": too many names");
  std::vector<std::string> out;
  for (const auto& name : value.get_array()) {
    if (!name.is_string()) return bad(rule);
    out.emplace_back(view(name.get_string()));
  }
  return out;
}

Status Compiler::required(SchemaNode& node, const Value& value) {
  ASSIGN_OR_RETURN(node.required, names(value, "required"));
  return {};
}

Status Compiler::pattern_properties(SchemaNode& node, const Value& value) {
  if (!value.is_object()) return bad("patternProperties: must be an object");
  for (const auto& member : value.get_object()) {
    ASSIGN_OR_RETURN(auto compiled, expression(view(member.key())));
    ASSIGN_OR_RETURN(auto schema, child(member.value(), {"patternProperties", view(member.key())}));
    node.pattern_properties.emplace_back(std::move(compiled), schema);
  }
  return {};
}

Status Compiler::dependent_required(SchemaNode& node, const Value& value) {
  if (!value.is_object()) return bad("dependentRequired: must be an object");
  for (const auto& member : value.get_object()) {
    ASSIGN_OR_RETURN(auto others, names(member.value(), "dependentRequired"));
    node.dependent_required.emplace_back(std::string(view(member.key())), std::move(others));
  }
  return {};
}

Status Compiler::dependent_schemas(SchemaNode& node, const Value& value) {
  if (!value.is_object()) return bad("dependentSchemas: must be an object");
  for (const auto& member : value.get_object()) {
    ASSIGN_OR_RETURN(auto schema, child(member.value(), {"dependentSchemas", view(member.key())}));
    node.dependent_schemas.emplace_back(std::string(view(member.key())), schema);
  }
  return {};
}

template <NodePtr SchemaNode::* member>
Status Compiler::one(SchemaNode& node, const Value& value) {
  ASSIGN_OR_RETURN(node.*member, child(value, {keyword_}));
  return {};
}

Status Compiler::unique(SchemaNode& node, const Value& value) {
  if (!value.is_bool()) return bad("uniqueItems: must be a boolean");
  node.are_elements_unique = value.get_bool();
  return {};
}

Result<std::unique_ptr<const RE2>> Compiler::expression(std::string_view text) const {
  if (text.size() > kMaxPattern) return too_large("pattern: longer than 1 KiB");
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  auto compiled = std::make_unique<const RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!compiled->ok()) return fail(ErrorKind::kUnsupported, "schema: pattern: not for RE2");
  return compiled;
}

Status Compiler::pattern(SchemaNode& node, const Value& value) {
  if (!value.is_string()) return bad("pattern: must be a string");
  ASSIGN_OR_RETURN(node.pattern, expression(view(value.get_string())));
  return {};
}

Status Compiler::multiple(SchemaNode& node, const Value& value) {
  bool positive =
      (value.is_int64() && value.get_int64() > 0) || (value.is_double() && value.get_double() > 0);
  if (!positive) return bad("multipleOf: must be a number above 0");
  node.multiple_of = value;
  return {};
}

template <std::vector<NodePtr> SchemaNode::* member>
Status Compiler::branches(SchemaNode& node, const Value& value) {
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
Status Compiler::count(SchemaNode& node, const Value& value) {
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
Status Compiler::bound(SchemaNode& node, const Value& value) {
  if (!value.is_number()) return bad("a bound must be a number");
  node.number.*inner = value;
  // The parser gives signed numbers where they fit; so must a bound be.
  if (value.is_uint64() && std::in_range<std::int64_t>(value.get_uint64())) {
    node.number.*inner = static_cast<std::int64_t>(value.get_uint64());
  }
  return {};
}

}  // namespace

base::Result<Schema> Schema::compile(const base::json::Object& schema) {
  ASSIGN_OR_RETURN(auto graph, Compiler().compile(schema));
  return Schema(std::shared_ptr<const SchemaNode>(graph, graph->root));
}

}  // namespace tool::pipeline

#include <algorithm>
#include <array>
#include <utility>

#include "base/core/text.h"
#include "base/json/canonical.h"
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
constexpr std::size_t kMaxPattern = 1'024;
constexpr std::int64_t kPatternMemory = 1 << 20;

std::string_view view(boost::json::string_view text) { return {text.data(), text.size()}; }

class Compiler {
 public:
  /// `root` outlives the compiler; references lead into it.
  explicit Compiler(const Object& root) : root_(root) {}
  Result<NodePtr> compile(const Value& schema, const std::string& path, std::size_t depth);

 private:
  using Handler = Status (Compiler::*)(SchemaNode&, const Value&);
  struct Keyword {
    std::string_view name;
    Handler handle;  // Null for a note.
  };
  static const Keyword* find(std::string_view name);
  static const std::array<Keyword, 38> kKeywords;

  Status type(SchemaNode& node, const Value& value);
  Status enumeration(SchemaNode& node, const Value& value);
  Status constant(SchemaNode& node, const Value& value);
  Status properties(SchemaNode& node, const Value& value);
  Status required(SchemaNode& node, const Value& value);
  Status additional(SchemaNode& node, const Value& value);
  Status items(SchemaNode& node, const Value& value);
  Status unique(SchemaNode& node, const Value& value);
  Status pattern(SchemaNode& node, const Value& value);
  Status definitions(SchemaNode& node, const Value& value);
  Status reference(SchemaNode& node, const Value& value);
  template <std::vector<NodePtr> SchemaNode::* member>
  Status branches(SchemaNode& node, const Value& value);
  template <auto outer, auto inner>
  Status count(SchemaNode& node, const Value& value);
  template <auto inner>
  Status bound(SchemaNode& node, const Value& value);

  Result<NodePtr> child(const Value& schema, const std::string& name) {
    return compile(schema, path_ + "/" + name, depth_ + 1);
  }
  Error bad(std::string rule) const { return fail(ErrorKind::kInvalid, "schema: " + rule); }
  static Error too_large(std::string rule) { return fail(ErrorKind::kTooLarge, "schema: " + rule); }

  const Object& root_;
  std::string path_;  // Of the schema that is read.
  std::size_t depth_ = 0;
  std::size_t nodes_ = 0;
};

const std::array<Compiler::Keyword, 38> Compiler::kKeywords = {{
    {"type", &Compiler::type},
    {"enum", &Compiler::enumeration},
    {"const", &Compiler::constant},
    {"properties", &Compiler::properties},
    {"required", &Compiler::required},
    {"additionalProperties", &Compiler::additional},
    {"items", &Compiler::items},
    {"uniqueItems", &Compiler::unique},
    {"pattern", &Compiler::pattern},
    {"oneOf", &Compiler::branches<&SchemaNode::one_of>},
    {"anyOf", &Compiler::branches<&SchemaNode::any_of>},
    {"allOf", &Compiler::branches<&SchemaNode::all_of>},
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
    {"$ref", &Compiler::reference},
    {"$defs", &Compiler::definitions},
    {"definitions", &Compiler::definitions},
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
    {"$id", nullptr},
}};

const Compiler::Keyword* Compiler::find(std::string_view name) {
  const auto* found = std::ranges::find(kKeywords, name, &Keyword::name);
  return found == kKeywords.end() ? nullptr : found;
}

Result<NodePtr> Compiler::compile(const Value& schema, const std::string& path, std::size_t depth) {
  if (++nodes_ > kMaxNodes) return too_large("more than 2000 schemas");
  if (depth > kMaxDepth) return too_large("nested deeper than 16 levels");
  auto node = std::make_unique<SchemaNode>();
  if (schema.is_bool()) {
    node->anything = schema.get_bool() ? Anything::kAlways : Anything::kNever;
    return NodePtr(std::move(node));
  }
  if (!schema.is_object()) return bad(path + ": must be an object or a boolean");
  std::string outer_path = std::exchange(path_, path);
  std::size_t outer_depth = std::exchange(depth_, depth);
  for (const auto& member : schema.get_object()) {
    std::string_view name = view(member.key());
    const Keyword* keyword = find(name);
    if (!keyword && name.starts_with("x-")) continue;
    if (!keyword) {
      return fail(ErrorKind::kUnsupported,
                  "schema: " + path + ": unknown keyword " + std::string(name.substr(0, 64)));
    }
    if (!keyword->handle) continue;
    auto status = (this->*keyword->handle)(*node, member.value());
    if (!status) return std::move(status).error();
  }
  path_ = std::move(outer_path);
  depth_ = outer_depth;
  return NodePtr(std::move(node));
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
  if (node.allowed) return bad("const: beside enum");
  node.allowed.emplace().push_back(std::move(text));
  return {};
}

Status Compiler::properties(SchemaNode& node, const Value& value) {
  if (!value.is_object()) return bad("properties: must be an object");
  for (const auto& member : value.get_object()) {
    std::string name(view(member.key()));
    ASSIGN_OR_RETURN(node.properties[name], child(member.value(), name));
  }
  return {};
}

Status Compiler::required(SchemaNode& node, const Value& value) {
  if (!value.is_array()) return bad("required: must be a list of names");
  for (const auto& name : value.get_array()) {
    if (!name.is_string()) return bad("required: must be a list of names");
    node.required.emplace_back(view(name.get_string()));
  }
  if (node.required.size() > kMaxNodes) return too_large("required: too many names");
  return {};
}

Status Compiler::additional(SchemaNode& node, const Value& value) {
  ASSIGN_OR_RETURN(node.additional, child(value, "additionalProperties"));
  return {};
}

Status Compiler::items(SchemaNode& node, const Value& value) {
  ASSIGN_OR_RETURN(node.items, child(value, "items"));
  return {};
}

Status Compiler::unique(SchemaNode& node, const Value& value) {
  if (!value.is_bool()) return bad("uniqueItems: must be a boolean");
  node.are_elements_unique = value.get_bool();
  return {};
}

Status Compiler::pattern(SchemaNode& node, const Value& value) {
  if (!value.is_string()) return bad("pattern: must be a string");
  std::string_view text = view(value.get_string());
  if (text.size() > kMaxPattern) return too_large("pattern: longer than 1 KiB");
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  node.pattern = std::make_unique<const RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!node.pattern->ok()) return fail(ErrorKind::kUnsupported, "schema: pattern: not for RE2");
  return {};
}

// Read where they are referred to.
Status Compiler::definitions(SchemaNode&, const Value& value) {
  return value.is_object() ? Status{} : Status(bad("$defs: must be an object"));
}

// What it names stands in its place. A schema that comes back to itself is thus
// nested too deeply, and one that doubles at each step has too many schemas.
Status Compiler::reference(SchemaNode& node, const Value& value) {
  auto unsupported = [] {
    return fail(ErrorKind::kUnsupported, "schema: $ref: must be #/$defs/NAME of the schema itself");
  };
  if (!value.is_string()) return bad("$ref: must be a string");
  std::string_view text = view(value.get_string());
  for (std::string_view section : {"$defs", "definitions"}) {
    std::string begin = "#/" + std::string(section) + "/";
    if (!text.starts_with(begin)) continue;
    std::string_view name = text.substr(begin.size());
    const auto* all = root_.if_contains(section);
    bool is_plain = name.find_first_of("/~%") == std::string_view::npos;
    if (all == nullptr || !all->is_object() || !is_plain) return unsupported();
    const auto* target = all->get_object().if_contains(name);
    if (target == nullptr) return bad("$ref: names no definition");
    ASSIGN_OR_RETURN(auto compiled, child(*target, "$ref"));
    node.all_of.push_back(std::move(compiled));
    return {};
  }
  return unsupported();
}

template <std::vector<NodePtr> SchemaNode::* member>
Status Compiler::branches(SchemaNode& node, const Value& value) {
  if (!value.is_array() || value.get_array().empty()) return bad("branches: must be a list");
  if (value.get_array().size() > kMaxBranches) return too_large("branches: more than 16");
  for (const auto& branch : value.get_array()) {
    ASSIGN_OR_RETURN(auto compiled, child(branch, "branch"));
    (node.*member).push_back(std::move(compiled));
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
  Compiler compiler(schema);
  ASSIGN_OR_RETURN(auto root, compiler.compile(Value(schema), "", 0));
  return Schema(std::shared_ptr<const SchemaNode>(std::move(root)));
}

}  // namespace tool::pipeline

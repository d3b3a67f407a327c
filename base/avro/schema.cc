#include "base/avro/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace base::avro {
namespace {

constexpr std::array<std::pair<std::string_view, Type>, 8> kPrimitives = {{
    {"null", Type::kNull},
    {"boolean", Type::kBoolean},
    {"int", Type::kInt},
    {"long", Type::kLong},
    {"float", Type::kFloat},
    {"double", Type::kDouble},
    {"bytes", Type::kBytes},
    {"string", Type::kString},
}};

constexpr std::array<std::string_view, 7> kStructure = {"type",    "name",  "namespace", "fields",
                                                        "symbols", "items", "values"};
constexpr std::size_t kMaxFixedSize = 16 * 1024 * 1024;

std::optional<Type> primitive(std::string_view name) {
  for (const auto& [text, type] : kPrimitives) {
    if (text == name) return type;
  }
  return std::nullopt;
}

std::string_view text_of(const json::Object& object, std::string_view key) {
  const json::Value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_string();
}

Error invalid(std::string message) { return fail(ErrorKind::kInvalid, std::move(message)); }

}  // namespace

/// Walks the JSON once; the depth was bounded when the JSON was parsed.
class SchemaParser {
 public:
  explicit SchemaParser(std::size_t max_nodes) : max_nodes_(max_nodes) {}

  Result<Schema> run(const json::Value& value) {
    ASSIGN_OR_RETURN(schema_.root_, parse(value, ""));
    return std::move(schema_);
  }

 private:
  Result<const Node*> parse(const json::Value& value, const std::string& space) {
    if (value.is_string()) return reference(value.get_string(), space);
    if (value.is_array()) return parse_union(value.get_array(), space);
    if (value.is_object()) return parse_object(value.get_object(), space);
    return invalid("Avro schema: a type must be a string, an array or an object");
  }

  Result<Node*> add(Type type) {
    RETURN_IF_ERROR(count());
    schema_.nodes_.push_back(std::make_unique<Node>());
    schema_.nodes_.back()->type = type;
    return schema_.nodes_.back().get();
  }

  Status count() {
    if (++used_ > max_nodes_) return fail(ErrorKind::kTooLarge, "Avro schema: too many types");
    return {};
  }

  Result<const Node*> reference(std::string_view name, const std::string& space) {
    if (auto type = primitive(name)) {
      ASSIGN_OR_RETURN(Node * node, add(*type));
      return node;
    }
    auto found = names_.find(space.empty() ? std::string(name) : fmt::format("{}.{}", space, name));
    if (found == names_.end()) found = names_.find(std::string(name));
    if (found == names_.end()) return invalid(fmt::format("Avro schema: unknown type '{}'", name));
    return found->second;
  }

  Result<const Node*> parse_union(const json::Array& array, const std::string& space) {
    ASSIGN_OR_RETURN(Node * node, add(Type::kUnion));
    for (const json::Value& item : array) {
      ASSIGN_OR_RETURN(const Node* branch, parse(item, space));
      if (branch->type == Type::kUnion) return invalid("Avro schema: a union inside a union");
      node->branches.push_back(branch);
    }
    return node;
  }

  Result<const Node*> parse_object(const json::Object& object, const std::string& space) {
    const json::Value* type = object.if_contains("type");
    if (type == nullptr) return invalid("Avro schema: a type without \"type\"");
    if (!type->is_string()) return parse(*type, space);
    std::string_view name = type->get_string();
    if (auto kind = primitive(name)) {
      ASSIGN_OR_RETURN(Node * node, add(*kind));
      keep_attributes(object, *node);
      return node;
    }
    if (name == "array") return parse_nested(object, Type::kArray, "items", space);
    if (name == "map") return parse_nested(object, Type::kMap, "values", space);
    if (name == "record" || name == "error") return parse_record(object, space);
    if (name == "enum") return parse_enum(object, space);
    if (name == "fixed") return parse_fixed(object, space);
    return reference(name, space);
  }

  Result<const Node*> parse_nested(const json::Object& object, Type type, std::string_view key,
                                   const std::string& space) {
    const json::Value* items = object.if_contains(key);
    if (items == nullptr) return invalid(fmt::format("Avro schema: \"{}\" is missing", key));
    ASSIGN_OR_RETURN(Node * node, add(type));
    keep_attributes(object, *node);
    ASSIGN_OR_RETURN(const Node* inner, parse(*items, space));
    node->branches.push_back(inner);
    return node;
  }

  Result<const Node*> parse_record(const json::Object& object, const std::string& space) {
    ASSIGN_OR_RETURN(Node * node, add_named(object, Type::kRecord, space));
    const json::Value* fields = object.if_contains("fields");
    if (fields == nullptr || !fields->is_array()) {
      return invalid(fmt::format("Avro schema: record '{}' has no \"fields\"", node->name));
    }
    std::string inner_space = node->name.substr(0, node->name.rfind('.') + 1);
    if (!inner_space.empty()) inner_space.pop_back();
    for (const json::Value& item : fields->get_array()) {
      ASSIGN_OR_RETURN(Field field, parse_field(item, inner_space));
      node->fields.push_back(std::move(field));
    }
    return node;
  }

  Result<Field> parse_field(const json::Value& value, const std::string& space) {
    RETURN_IF_ERROR(count());
    if (!value.is_object()) return invalid("Avro schema: a field must be an object");
    const json::Object& object = value.get_object();
    Field field;
    field.name = text_of(object, "name");
    const json::Value* type = object.if_contains("type");
    if (field.name.empty() || type == nullptr) {
      return invalid("Avro schema: a field without \"name\" or \"type\"");
    }
    ASSIGN_OR_RETURN(field.type, parse(*type, space));
    for (const auto& entry : object) {
      if (entry.key() != "name" && entry.key() != "type") {
        field.attributes.emplace(entry.key(), entry.value());
      }
    }
    return field;
  }

  Result<const Node*> parse_enum(const json::Object& object, const std::string& space) {
    ASSIGN_OR_RETURN(Node * node, add_named(object, Type::kEnum, space));
    const json::Value* symbols = object.if_contains("symbols");
    if (symbols == nullptr || !symbols->is_array()) {
      return invalid(fmt::format("Avro schema: enum '{}' has no \"symbols\"", node->name));
    }
    for (const json::Value& symbol : symbols->get_array()) {
      if (!symbol.is_string()) return invalid("Avro schema: a symbol must be a string");
      node->symbols.emplace_back(symbol.get_string());
    }
    return node;
  }

  Result<const Node*> parse_fixed(const json::Object& object, const std::string& space) {
    auto size = int_attribute(object, "size");
    if (!size || *size < 0 || *size > static_cast<std::int64_t>(kMaxFixedSize)) {
      return invalid("Avro schema: a fixed without a valid \"size\"");
    }
    ASSIGN_OR_RETURN(Node * node, add_named(object, Type::kFixed, space));
    node->size = static_cast<std::size_t>(*size);
    return node;
  }

  // Some writers define the fixed type of a UUID or a decimal anew at each
  // use, so a fixed may be repeated; nothing else may.
  Result<Node*> add_named(const json::Object& object, Type type, const std::string& outer) {
    std::string name(text_of(object, "name"));
    if (name.empty()) return invalid("Avro schema: a named type without \"name\"");
    if (name.find('.') == std::string::npos) {
      const std::string space =
          object.contains("namespace") ? std::string(text_of(object, "namespace")) : outer;
      if (!space.empty()) name = fmt::format("{}.{}", space, name);
    }
    ASSIGN_OR_RETURN(Node * node, add(type));
    node->name = std::move(name);
    keep_attributes(object, *node);
    auto [at, is_new] = names_.try_emplace(node->name, node);
    if (!is_new && (type != Type::kFixed || at->second->type != Type::kFixed)) {
      return invalid(fmt::format("Avro schema: '{}' is defined twice", node->name));
    }
    at->second = node;
    return node;
  }

  static void keep_attributes(const json::Object& object, Node& node) {
    node.logical_type = text_of(object, "logicalType");
    for (const auto& entry : object) {
      if (std::ranges::find(kStructure, std::string_view(entry.key())) == kStructure.end()) {
        node.attributes.emplace(entry.key(), entry.value());
      }
    }
  }

  std::size_t max_nodes_;
  std::size_t used_ = 0;
  std::map<std::string, Node*> names_;
  Schema schema_;
};

Result<Schema> Schema::parse(std::string_view text, SchemaLimits limits) {
  ASSIGN_OR_RETURN(json::Value value, json::parse(text, limits.json));
  return SchemaParser(limits.nodes).run(value);
}

std::optional<std::int64_t> int_attribute(const json::Object& attributes, std::string_view name) {
  const json::Value* value = attributes.if_contains(name);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return value->get_int64();
}

const Node& without_null(const Node& node) {
  if (node.type != Type::kUnion) return node;
  const Node* only = nullptr;
  for (const Node* branch : node.branches) {
    if (branch->type == Type::kNull) continue;
    if (only != nullptr) return node;
    only = branch;
  }
  return only == nullptr ? node : *only;
}

}  // namespace base::avro

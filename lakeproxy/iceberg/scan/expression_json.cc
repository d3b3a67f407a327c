#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/json/fields.h"
#include "lakeproxy/iceberg/scan/expression.h"

namespace lake::scan {
namespace {

using base::ErrorKind;
using base::Result;
using base::json::Fields;
using base::json::Value;

struct Named {
  std::string_view name;
  Op op;
};
constexpr std::array kOps = {
    Named{"true", Op::kTrue},
    Named{"false", Op::kFalse},
    Named{"and", Op::kAnd},
    Named{"or", Op::kOr},
    Named{"not", Op::kNot},
    Named{"is-null", Op::kIsNull},
    Named{"not-null", Op::kNotNull},
    Named{"is-nan", Op::kIsNan},
    Named{"not-nan", Op::kNotNan},
    Named{"lt", Op::kLt},
    Named{"lt-eq", Op::kLtEq},
    Named{"gt", Op::kGt},
    Named{"gt-eq", Op::kGtEq},
    Named{"eq", Op::kEq},
    Named{"not-eq", Op::kNotEq},
    Named{"starts-with", Op::kStartsWith},
    Named{"not-starts-with", Op::kNotStartsWith},
    Named{"in", Op::kIn},
    Named{"not-in", Op::kNotIn},
};

base::Error wrong(std::string_view path, std::string_view rule) {
  return base::fail(ErrorKind::kInvalid, fmt::format("{}: {}", path, rule));
}

bool is_object(const Value& json, std::string_view type) {
  const auto* object = json.if_object();
  if (object == nullptr) return false;
  const auto* found = object->if_contains("type");
  return found != nullptr && found->is_string() && found->get_string() == type;
}

bool is_term(const Value& json) {
  return is_object(json, "reference") || is_object(json, "apply") || is_object(json, "transform");
}

// The comparison with its sides changed.
std::optional<Op> mirrored(Op op) {
  switch (op) {
    case Op::kLt: return Op::kGt;
    case Op::kLtEq: return Op::kGtEq;
    case Op::kGt: return Op::kLt;
    case Op::kGtEq: return Op::kLtEq;
    case Op::kEq:
    case Op::kNotEq: return op;
    default: return std::nullopt;
  }
}

Result<Term> reference_of(const Value& json, const std::string& path) {
  Term term;
  if (const auto* name = json.if_string()) {
    term.name = std::string(*name);
    return term;
  }
  ASSIGN_OR_RETURN(auto fields, Fields::of(json, path));
  ASSIGN_OR_RETURN(term.id, fields.opt_int32("id"));
  if (term.id) return term;
  // Some clients write the name of a reference as its term.
  ASSIGN_OR_RETURN(term.name, fields.string(fields.has("term") ? "term" : "name"));
  return term;
}

Result<Term> term_of(const Value& json, const std::string& path) {
  std::string transform;
  const Value* column = &json;
  std::string column_path = path;
  if (is_object(json, "transform")) {
    ASSIGN_OR_RETURN(auto fields, Fields::of(json, path));
    ASSIGN_OR_RETURN(transform, fields.string("transform"));
    ASSIGN_OR_RETURN(column, fields.value("term"));
    column_path = fields.path_of("term");
  } else if (is_object(json, "apply")) {
    ASSIGN_OR_RETURN(auto fields, Fields::of(json, path));
    ASSIGN_OR_RETURN(transform, fields.string("function"));
    ASSIGN_OR_RETURN(const auto* arguments, fields.array("arguments"));
    column_path = fields.path_of("arguments");
    if (arguments->size() != 1) return wrong(column_path, "must be one column");
    column = &arguments->front();
  }
  ASSIGN_OR_RETURN(Term term, reference_of(*column, column_path));
  if (column == &json) return term;
  term.transform = model::parse_transform(transform);
  if (term.transform.kind == model::TransformKind::kUnknown) {
    return wrong(path, fmt::format("no such transform: {}", transform));
  }
  return term;
}

// A bare value, or one that says that it is one.
const Value& value_of(const Value& json) {
  if (!is_object(json, "literal")) return json;
  const auto* value = json.get_object().if_contains("value");
  return value != nullptr ? *value : json;
}

class Reader {
 public:
  Result<Expression> read(const Value& json, const std::string& path, std::size_t depth);

 private:
  Result<Expression> read_children(Op op, const Fields& fields, std::size_t depth);
  Result<Expression> read_predicate(Op op, const Fields& fields);
  base::Status read_operands(Expression& made, const Fields& fields);
  base::Status read_set(Expression& made, const Fields& fields);
  base::Status add_value(Expression& made, const Value& json, const std::string& path);

  std::size_t nodes_ = 0;
  std::size_t values_ = 0;
};

Result<Expression> Reader::read(const Value& json, const std::string& path, std::size_t depth) {
  if (depth > kMostDepth) return wrong(path, fmt::format("more than {} levels", kMostDepth));
  if (++nodes_ > kMostNodes) return wrong(path, fmt::format("more than {} parts", kMostNodes));
  if (json.is_bool()) return Expression{.op = json.get_bool() ? Op::kTrue : Op::kFalse};
  if (is_object(json, "literal") && value_of(json).is_bool()) {
    return Expression{.op = value_of(json).get_bool() ? Op::kTrue : Op::kFalse};
  }
  ASSIGN_OR_RETURN(auto fields, Fields::of(json, path));
  ASSIGN_OR_RETURN(const std::string type, fields.string("type"));
  for (const Named& named : kOps) {
    if (named.name != type) continue;
    if (named.op <= Op::kFalse) return Expression{.op = named.op};
    if (named.op <= Op::kNot) return read_children(named.op, fields, depth);
    return read_predicate(named.op, fields);
  }
  return wrong(fields.path_of("type"), "must be a predicate of the Iceberg REST description");
}

Result<Expression> Reader::read_children(Op op, const Fields& fields, std::size_t depth) {
  Expression made{.op = op};
  auto add = [&](std::string_view key) -> base::Status {
    ASSIGN_OR_RETURN(const Value* json, fields.value(key));
    ASSIGN_OR_RETURN(auto child, read(*json, fields.path_of(key), depth + 1));
    made.children.push_back(std::move(child));
    return {};
  };
  if (op == Op::kNot) {
    RETURN_IF_ERROR(add("child"));
    return made;
  }
  RETURN_IF_ERROR(add("left"));
  RETURN_IF_ERROR(add("right"));
  return made;
}

Result<Expression> Reader::read_predicate(Op op, const Fields& fields) {
  Expression made{.op = op};
  if (op >= Op::kLt && op <= Op::kNotStartsWith && !fields.has("term")) {
    RETURN_IF_ERROR(read_operands(made, fields));
    return made;
  }
  const std::string_view key = fields.has("term") ? "term" : "child";
  ASSIGN_OR_RETURN(const Value* term, fields.value(key));
  ASSIGN_OR_RETURN(made.term, term_of(*term, fields.path_of(key)));
  if (op >= Op::kIn) {
    RETURN_IF_ERROR(read_set(made, fields));
  } else if (op >= Op::kLt) {
    ASSIGN_OR_RETURN(const Value* value, fields.value("value"));
    RETURN_IF_ERROR(add_value(made, *value, fields.path_of("value")));
  }
  return made;
}

// "left" and "right": a column and a value, on either side.
base::Status Reader::read_operands(Expression& made, const Fields& fields) {
  ASSIGN_OR_RETURN(const Value* left, fields.value("left"));
  ASSIGN_OR_RETURN(const Value* right, fields.value("right"));
  const bool is_mirrored = is_term(*right);
  if (is_term(*left) == is_mirrored) {
    return wrong(fields.path(), "must compare one column with one value");
  }
  const std::string_view column = is_mirrored ? "right" : "left";
  const std::string_view value = is_mirrored ? "left" : "right";
  if (is_mirrored) {
    auto op = mirrored(made.op);
    if (!op) return wrong(fields.path_of("left"), "must be a column");
    made.op = *op;
  }
  ASSIGN_OR_RETURN(made.term, term_of(is_mirrored ? *right : *left, fields.path_of(column)));
  return add_value(made, is_mirrored ? *left : *right, fields.path_of(value));
}

base::Status Reader::read_set(Expression& made, const Fields& fields) {
  ASSIGN_OR_RETURN(const Value* json, fields.value("values"));
  std::string path = fields.path_of("values");
  if (is_object(*json, "literals")) {
    const auto* inner = json->get_object().if_contains("values");
    if (inner != nullptr) json = inner;
    path += ".values";
  }
  const auto* array = json->if_array();
  if (array == nullptr) return wrong(path, "must be an array");
  for (std::size_t i = 0; i < array->size(); ++i) {
    RETURN_IF_ERROR(add_value(made, (*array)[i], fmt::format("{}[{}]", path, i)));
  }
  return {};
}

base::Status Reader::add_value(Expression& made, const Value& json, const std::string& path) {
  if (++values_ > kMostValues) return wrong(path, fmt::format("more than {} values", kMostValues));
  const Value& value = value_of(json);
  if (value.is_null() || value.is_object() || value.is_array()) {
    return wrong(path, "must be a value of a primitive type");
  }
  made.values.push_back(value);
  return {};
}

}  // namespace

std::string_view to_string(Op op) { return kOps.at(static_cast<std::size_t>(op)).name; }

Result<Expression> expression_from_json(const Value& json, std::string_view path) {
  return Reader().read(json, std::string(path), 0);
}

}  // namespace lake::scan

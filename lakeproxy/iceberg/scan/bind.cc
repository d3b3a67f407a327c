#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lakeproxy/iceberg/scan/expression.h"
#include "lakeproxy/iceberg/scan/filter_value.h"

namespace lake::scan {
namespace {

using base::ErrorKind;
using base::Result;
using model::TypeKind;

base::Error wrong(std::string_view path, std::string_view rule) {
  return base::fail(ErrorKind::kInvalid, fmt::format("{}: {}", path, rule));
}

// Where a part of a filter stands; written out for an error alone.
struct Position {
  const Position* parent;
  std::string_view step;

  [[nodiscard]] std::string path() const {
    if (parent == nullptr) return std::string(step);
    return parent->path() + "." + std::string(step);
  }
};

class Binder {
 public:
  explicit Binder(const Columns& columns) : columns_(columns) {}
  Result<Node> bind(const Expression& expression, const Position& at);
  std::vector<Predicate> take() && { return std::move(predicates_); }

 private:
  Result<Predicate> bind_predicate(const Expression& expression, const Position& at) const;
  Result<const Columns::Column*> column_of(const Term& term, const Position& at) const;
  base::Status add_values(const Expression& expression, const Position& at, Predicate& made) const;

  const Columns& columns_;
  std::vector<Predicate> predicates_;
};

Result<Node> Binder::bind(const Expression& expression, const Position& at) {
  Node node{.op = expression.op};
  if (expression.op > Op::kNot) {
    ASSIGN_OR_RETURN(auto predicate, bind_predicate(expression, at));
    node.predicate = predicates_.size();
    predicates_.push_back(std::move(predicate));
    return node;
  }
  static constexpr std::string_view kSides[] = {"left", "right"};
  for (std::size_t i = 0; i < expression.children.size(); ++i) {
    const Position below{&at, expression.op == Op::kNot ? "child" : kSides[i]};
    ASSIGN_OR_RETURN(auto child, bind(expression.children[i], below));
    node.children.push_back(std::move(child));
  }
  return node;
}

Result<const Columns::Column*> Binder::column_of(const Term& term, const Position& at) const {
  const Columns::Column* column = nullptr;
  if (term.id) {
    column = columns_.find(*term.id);
    if (column == nullptr) return wrong(at.path(), fmt::format("no field {}", *term.id));
  } else {
    ASSIGN_OR_RETURN(column, columns_.find(term.name, at.path()));
  }
  if (column->in_list) return wrong(at.path(), "must be no field in a list or a map");
  return column;
}

void write_term(std::string& out, const Term& term, const std::string& name) {
  const bool is_column = term.transform.kind == model::TransformKind::kIdentity;
  if (!is_column) {
    out += R"({"type":"transform","transform":)";
    base::json::append_quoted(out, to_string(term.transform));
    out += R"(,"term":)";
  }
  base::json::append_quoted(out, name);
  if (!is_column) out += '}';
}

// In the form that all clients read, with the values as they were sent.
std::string predicate_json(const Expression& expression, const std::string& column) {
  const std::string& name = expression.term.id ? column : expression.term.name;
  std::string out = fmt::format(R"({{"type":"{}","term":)", to_string(expression.op));
  write_term(out, expression.term, name);
  if (expression.op >= Op::kIn) {
    out += R"(,"values":[)";
    for (std::size_t i = 0; i < expression.values.size(); ++i) {
      if (i > 0) out += ',';
      base::json::append(out, expression.values[i]);
    }
    out += ']';
  } else if (expression.op >= Op::kLt) {
    out += R"(,"value":)";
    base::json::append(out, expression.values.front());
  }
  return out + '}';
}

Result<Predicate> Binder::bind_predicate(const Expression& expression, const Position& at) const {
  const Position term_at{&at, "term"};
  ASSIGN_OR_RETURN(const auto* column, column_of(expression.term, term_at));
  Predicate made;
  made.op = expression.op;
  made.field_id = column->field->id;
  made.source = column->field->type;
  made.transform = expression.term.transform;
  made.in_struct = column->in_struct;
  made.json = predicate_json(expression, column->name);
  made.type = made.source;
  if (made.transform.kind != model::TransformKind::kIdentity) {
    if (!model::can_transform(made.transform, made.source)) {
      return wrong(term_at.path(), fmt::format("{} does not take {}", to_string(made.transform),
                                               made.source.to_string()));
    }
    made.type = model::result_type(made.transform, made.source);
  }
  const bool is_prefix = made.op == Op::kStartsWith || made.op == Op::kNotStartsWith;
  if (is_prefix && made.type.kind() != TypeKind::kString) {
    return wrong(term_at.path(), "must be a string");
  }
  RETURN_IF_ERROR(add_values(expression, at, made));
  return made;
}

base::Status Binder::add_values(const Expression& expression, const Position& at,
                                Predicate& made) const {
  for (std::size_t i = 0; i < expression.values.size(); ++i) {
    auto read = value_from_json(expression.values[i], made.type);
    if (!read) {
      std::string path =
          made.op >= Op::kIn ? fmt::format("{}.values[{}]", at.path(), i) : at.path() + ".value";
      return wrong(path, fmt::format("must be a {} value", made.type.to_string()));
    }
    if (read->place == Place::kInside) {
      made.values.push_back(std::move(*read->value));
    } else if (made.op < Op::kIn) {
      made.place = read->place;
    }
  }
  std::ranges::sort(made.values);
  const auto equal = std::ranges::unique(made.values);
  made.values.erase(equal.begin(), equal.end());
  return {};
}

}  // namespace

Columns::Columns(const model::Schema& schema, NameCase names) : names_(names) {
  add(schema.fields, {});
  // Each level behind the one above: a column whose own name has a dot comes before a field of a
  // struct that is spelled alike.
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column parent = columns_[i];
    add(parent.field->type.children(), parent);
  }
}

std::string Columns::key_of(std::string_view name) const {
  std::string key(name);
  if (names_ == NameCase::kSensitive) return key;
  for (char& c : key) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return key;
}

void Columns::add(const std::vector<model::Field>& fields, const Column& parent) {
  for (const model::Field& field : fields) {
    Column column{&field, field.name, parent.in_struct, parent.in_list};
    if (parent.field != nullptr) {
      column.name = parent.name + "." + field.name;
      const bool is_struct = parent.field->type.kind() == TypeKind::kStruct;
      column.in_struct = column.in_struct || is_struct;
      column.in_list = column.in_list || !is_struct;
    }
    by_name_[key_of(column.name)].push_back(columns_.size());
    by_id_.emplace(field.id, columns_.size());
    columns_.push_back(std::move(column));
  }
}

Result<const Columns::Column*> Columns::find(std::string_view name, std::string_view path) const {
  auto found = by_name_.find(key_of(name));
  if (found == by_name_.end()) return wrong(path, fmt::format("no column {}", name));
  if (names_ == NameCase::kInsensitive && found->second.size() > 1) {
    return wrong(path, fmt::format("more than one column {}", name));
  }
  return &columns_[found->second.front()];
}

const Columns::Column* Columns::find(model::FieldId id) const {
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &columns_[found->second];
}

Result<Filter> bind(const Expression& expression, const Columns& columns, std::string_view path) {
  Binder binder(columns);
  Filter filter;
  ASSIGN_OR_RETURN(filter.root, binder.bind(expression, Position{nullptr, path}));
  filter.predicates = std::move(binder).take();
  return filter;
}

}  // namespace lake::scan

#include "toolserver/connectors/sql/statement_needs.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/core/text.h"
#include "toolserver/connectors/sql/sql_names.h"
#include "toolserver/connectors/sql/sql_tree.h"

namespace tool::connectors {
namespace {

using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;
using Op = Condition::Op;

constexpr std::size_t kMostNames = 10'000;
constexpr std::size_t kMostConditions = 64;
constexpr std::size_t kMostValues = 100;
constexpr std::size_t kLongestValue = 256;

constexpr auto kOps = std::to_array<std::pair<std::string_view, Op>>({
    {"eq", Op::kEq},
    {"lt", Op::kLt},
    {"lt-eq", Op::kLtEq},
    {"gt", Op::kGt},
    {"gt-eq", Op::kGtEq},
    {"in", Op::kIn},
    {"is-null", Op::kIsNull},
    {"not-null", Op::kNotNull},
});

const Array* list_at(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  return value != nullptr ? value->if_array() : nullptr;
}

const Object* object_at(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  return value != nullptr ? value->if_object() : nullptr;
}

// Whether a member is there with something in it.
bool says(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  if (value == nullptr || value->is_null()) return false;
  return !value->is_array() || !value->get_array().empty();
}

std::vector<std::string> texts_of(const Array& list) {
  std::vector<std::string> texts;
  for (const Value& one : list) {
    if (one.is_string()) texts.emplace_back(one.get_string());
  }
  return texts;
}

// The parts of a reference to a column; none of anything else.
std::vector<std::string> reference_of(const Value* expression) {
  const Object* object = expression != nullptr ? expression->if_object() : nullptr;
  if (object == nullptr || text_at(*object, "class") != "COLUMN_REF") return {};
  const Array* names = list_at(*object, "column_names");
  return names != nullptr ? texts_of(*names) : std::vector<std::string>();
}

// Names of a whole tree. What stands for columns without naming each of them ends the search: a
// star, a number of a column, what joins or turns tables by all their columns, a list that renames
// columns by their order, a row as a value.
class ColumnNames {
 public:
  std::optional<std::set<std::string>> of(const Value& tree) {
    walk(tree);
    const bool has_row = std::ranges::any_of(
        last_parts_, [&](const std::string& name) { return tables_.contains(name); });
    if (takes_all_ || has_row || columns_.size() > kMostNames) return std::nullopt;
    return std::move(columns_);
  }

 private:
  void walk(const Value& value) {
    if (value.is_array()) {
      for (const Value& item : value.get_array()) walk(item);
    } else if (value.is_object()) {
      look_at(value.get_object());
      for (const auto& [key, member] : value.get_object()) walk(member);
    }
  }
  void look_at(const Object& object);
  void look_at_reference(const Object& object);

  std::set<std::string> columns_;
  std::set<std::string> tables_;      // What a table, query or WITH part is called.
  std::set<std::string> last_parts_;  // Of references.
  bool takes_all_ = false;
};

void ColumnNames::look_at_reference(const Object& object) {
  const Array* names = list_at(object, "column_names");
  if (names == nullptr || names->empty()) {
    takes_all_ = true;
    return;
  }
  for (const std::string& name : texts_of(*names)) columns_.insert(lower_ascii(name));
  last_parts_.insert(lower_ascii(texts_of(*names).back()));
}

void ColumnNames::look_at(const Object& object) {
  const std::string_view kind = text_at(object, "class");
  const std::string_view type = text_at(object, "type");
  if (kind == "COLUMN_REF") return look_at_reference(object);
  if (kind == "STAR" || kind == "POSITIONAL_REFERENCE" || type == "PIVOT" || type == "SHOW_REF") {
    takes_all_ = true;
  }
  if (says(object, "column_name_alias")) takes_all_ = true;
  if (type == "JOIN") {
    constexpr auto kPlain =
        std::to_array<std::string_view>({"REGULAR", "CROSS", "ASOF", "POSITIONAL"});
    if (std::ranges::find(kPlain, text_at(object, "ref_type")) == kPlain.end()) takes_all_ = true;
    if (const Array* names = list_at(object, "using_columns")) {
      for (const std::string& name : texts_of(*names)) columns_.insert(lower_ascii(name));
    }
  }
  for (const char* member : {"table_name", "schema_name", "alias", "key", "cte_name"}) {
    const std::string_view name = text_at(object, member);
    // An alias of an expression names no table, but is taken for one: then it is all columns.
    if (!name.empty() && kind.empty()) tables_.insert(lower_ascii(name));
  }
}

// What each SELECT says in WHERE of the tables in its own FROM.
class Conditions {
 public:
  explicit Conditions(const Array& params) : params_(params) {}

  std::vector<Condition> of(const Value& tree) {
    walk(tree);
    // Of a table that is read twice, each reading has conditions of its own.
    std::erase_if(found_, [&](const Condition& one) { return times_[one.table.key()] != 1; });
    if (found_.size() > kMostConditions) found_.resize(kMostConditions);
    return std::move(found_);
  }

 private:
  struct Source {
    std::string called;
    QualifiedName name;
  };

  void walk(const Value& value);
  void look_at_select(const Object& select);
  [[nodiscard]] static bool collect(const Value* from, std::vector<Source>& sources);
  void look_at_condition(const Value& expression, const std::vector<Source>& sources);
  void compare(const Object& expression, const std::vector<Source>& sources);
  void add(const Value* column, Op op, std::vector<const Value*> constants,
           const std::vector<Source>& sources);
  [[nodiscard]] static const Source* source_of(const std::vector<std::string>& reference,
                                               const std::vector<Source>& sources);
  [[nodiscard]] std::optional<ConditionValue> value_of(const Value& expression) const;

  const Array& params_;
  std::map<std::string, int> times_;
  std::vector<Condition> found_;
  std::set<std::string> renamed_;  // By the SELECT under way.
};

void Conditions::walk(const Value& value) {
  if (value.is_array()) {
    for (const Value& item : value.get_array()) walk(item);
  } else if (value.is_object()) {
    const Object& object = value.get_object();
    const std::string_view type = text_at(object, "type");
    if (type == "SELECT_NODE") look_at_select(object);
    if (type == "BASE_TABLE" && !object.contains("class")) {
      ++times_[QualifiedName{std::string(text_at(object, "schema_name")),
                             std::string(text_at(object, "table_name"))}
                   .key()];
    }
    for (const auto& [key, member] : object) walk(member);
  }
}

void Conditions::look_at_select(const Object& select) {
  std::vector<Source> sources;
  const Value* where = select.if_contains("where_clause");
  if (where == nullptr || where->is_null() || says(select, "sample") ||
      !collect(select.if_contains("from_table"), sources)) {
    return;
  }
  renamed_.clear();
  if (const Array* list = list_at(select, "select_list")) {
    for (const Value& one : *list) {
      if (one.is_object()) renamed_.insert(lower_ascii(text_at(one.get_object(), "alias")));
    }
  }
  look_at_condition(*where, sources);
}

// Only of joins that keep a row of a table where the whole row is kept. False: others.
bool Conditions::collect(const Value* from, std::vector<Source>& sources) {
  const Object* table = from != nullptr ? from->if_object() : nullptr;
  if (table == nullptr || says(*table, "sample") || says(*table, "column_name_alias")) return false;
  const std::string_view type = text_at(*table, "type");
  if (type == "BASE_TABLE") {
    Source one{
        std::string(text_at(*table, "alias")),
        {std::string(text_at(*table, "schema_name")), std::string(text_at(*table, "table_name"))}};
    if (one.called.empty()) one.called = one.name.table;
    one.called = lower_ascii(one.called);
    sources.push_back(std::move(one));
    return true;
  }
  const std::string_view form = text_at(*table, "ref_type");
  return type == "JOIN" && text_at(*table, "join_type") == "INNER" &&
         (form == "REGULAR" || form == "CROSS") && collect(table->if_contains("left"), sources) &&
         collect(table->if_contains("right"), sources);
}

void Conditions::look_at_condition(const Value& expression, const std::vector<Source>& sources) {
  const Object* object = expression.if_object();
  if (object == nullptr) return;
  const std::string_view kind = text_at(*object, "class");
  const std::string_view type = text_at(*object, "type");
  const Array* children = list_at(*object, "children");
  if (type == "CONJUNCTION_AND" && children != nullptr) {
    for (const Value& one : *children) look_at_condition(one, sources);
  } else if (kind == "COMPARISON") {
    compare(*object, sources);
  } else if (kind == "BETWEEN" && type == "COMPARE_BETWEEN") {
    add(object->if_contains("input"), Op::kGtEq, {object->if_contains("lower")}, sources);
    add(object->if_contains("input"), Op::kLtEq, {object->if_contains("upper")}, sources);
  } else if (kind == "OPERATOR" && children != nullptr && !children->empty()) {
    std::vector<const Value*> constants;
    for (const Value& one : *children) constants.push_back(&one);
    constants.erase(constants.begin());
    if (type == "COMPARE_IN") add(&children->front(), Op::kIn, constants, sources);
    if (type == "OPERATOR_IS_NULL") add(&children->front(), Op::kIsNull, {}, sources);
    if (type == "OPERATOR_IS_NOT_NULL") add(&children->front(), Op::kNotNull, {}, sources);
  }
}

void Conditions::compare(const Object& expression, const std::vector<Source>& sources) {
  struct Compared {
    std::string_view type;
    Op op;
    Op mirrored;
  };
  constexpr auto kCompared = std::to_array<Compared>({
      {"COMPARE_EQUAL", Op::kEq, Op::kEq},
      {"COMPARE_LESSTHAN", Op::kLt, Op::kGt},
      {"COMPARE_LESSTHANOREQUALTO", Op::kLtEq, Op::kGtEq},
      {"COMPARE_GREATERTHAN", Op::kGt, Op::kLt},
      {"COMPARE_GREATERTHANOREQUALTO", Op::kGtEq, Op::kLtEq},
  });
  const Value* left = expression.if_contains("left");
  const Value* right = expression.if_contains("right");
  for (const Compared& one : kCompared) {
    if (text_at(expression, "type") != one.type) continue;
    add(left, one.op, {right}, sources);
    add(right, one.mirrored, {left}, sources);
  }
}

const Conditions::Source* Conditions::source_of(const std::vector<std::string>& reference,
                                                const std::vector<Source>& sources) {
  const Source* found = nullptr;
  for (const Source& one : sources) {
    const bool is_it =
        reference.size() == 1 ? sources.size() == 1
        : reference.size() == 2
            ? lower_ascii(reference[0]) == one.called
            : reference.size() == 3 &&
                  QualifiedName{reference[0], reference[1]}.key() == one.name.key() &&
                  one.called == lower_ascii(one.name.table);
    if (!is_it) continue;
    if (found != nullptr) return nullptr;
    found = &one;
  }
  return found != nullptr && !found->name.name_space.empty() ? found : nullptr;
}

// The column must be one of the table; whoever knows its columns looks.
void Conditions::add(const Value* column, Op op, std::vector<const Value*> constants,
                     const std::vector<Source>& sources) {
  const auto reference = reference_of(column);
  const Source* source = source_of(reference, sources);
  if (source == nullptr || renamed_.contains(lower_ascii(reference.back()))) return;
  Condition made{.table = source->name, .column = reference.back(), .op = op};
  for (const Value* constant : constants) {
    auto value = constant != nullptr ? value_of(*constant) : std::nullopt;
    if (!value || made.values.size() >= kMostValues) return;
    made.values.push_back(*std::move(value));
  }
  if (op == Op::kIn && made.values.empty()) return;
  found_.push_back(std::move(made));
}

// Whole numbers and texts, and a text as DATE or TIMESTAMP: the engine compares no others exactly
// as the bounds of a file are compared.
std::optional<ConditionValue> Conditions::value_of(const Value& expression) const {
  const Object* object = expression.if_object();
  if (object == nullptr) return std::nullopt;
  const std::string_view kind = text_at(*object, "class");
  if (kind == "CAST") {
    const Object* to = object_at(*object, "cast_type");
    const std::string_view type = to != nullptr ? text_at(*to, "id") : std::string_view();
    const Value* child = object->if_contains("child");
    if ((type != "DATE" && type != "TIMESTAMP") || child == nullptr) return std::nullopt;
    const auto value = constant_of(*child) != nullptr ? value_of(*child) : std::nullopt;
    const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
    // As a date it loses its time of day.
    constexpr std::size_t kDate = 10;
    if (text == nullptr || (type == "DATE" && text->size() != kDate)) return std::nullopt;
    return Moment{*text};
  }
  const Value* value = nullptr;
  if (kind == "PARAMETER") {
    auto number = base::parse_int64(text_at(*object, "identifier"));
    if (number && *number >= 1 && static_cast<std::size_t>(*number) <= params_.size()) {
      value = &params_[static_cast<std::size_t>(*number) - 1];
    }
  } else {
    value = constant_of(expression);
    const Object* holder = value != nullptr ? object_at(*object, "value") : nullptr;
    const Object* of = holder != nullptr ? object_at(*holder, "type") : nullptr;
    constexpr auto kTypes =
        std::to_array<std::string_view>({"INTEGER", "BIGINT", "SMALLINT", "TINYINT", "VARCHAR"});
    if (of == nullptr || std::ranges::find(kTypes, text_at(*of, "id")) == kTypes.end()) {
      return std::nullopt;
    }
  }
  if (value == nullptr) return std::nullopt;
  if (const auto* number = value->if_int64()) return *number;
  if (value->is_string() && value->get_string().size() <= kLongestValue) {
    return std::string(value->get_string());
  }
  return std::nullopt;
}

std::string_view text_of(Op op) {
  for (const auto& [text, one] : kOps) {
    if (one == op) return text;
  }
  return {};
}

base::Result<Condition> read_condition(const Fields& fields) {
  Condition condition;
  ASSIGN_OR_RETURN(condition.table.name_space, fields.string("namespace"));
  ASSIGN_OR_RETURN(condition.table.table, fields.string("table"));
  ASSIGN_OR_RETURN(condition.column, fields.string("column"));
  ASSIGN_OR_RETURN(const std::string op, fields.string("op"));
  const auto* found = std::ranges::find(kOps, op, [](const auto& one) { return one.first; });
  if (found == kOps.end()) {
    return base::fail(base::ErrorKind::kInvalid, fields.path_of("op") + ": is none");
  }
  condition.op = found->second;
  ASSIGN_OR_RETURN(const Array* values, fields.array("values"));
  const bool has_none = condition.op == Op::kIsNull || condition.op == Op::kNotNull;
  const bool right_number =
      condition.op == Op::kIn ? !values->empty() : values->size() == (has_none ? 0U : 1U);
  if (!right_number || values->size() > kMostValues) {
    return base::fail(base::ErrorKind::kInvalid, fields.path_of("values") + ": another number");
  }
  for (const Value& one : *values) {
    if (const auto* number = one.if_int64()) {
      condition.values.emplace_back(*number);
    } else if (one.is_string()) {
      condition.values.emplace_back(std::string(one.get_string()));
    } else if (one.is_object()) {
      condition.values.emplace_back(Moment{std::string(text_at(one.get_object(), "moment"))});
    } else {
      return base::fail(base::ErrorKind::kInvalid, fields.path_of("values") + ": of another kind");
    }
  }
  return condition;
}

}  // namespace

StatementNeeds needs_of(const Value& tree, const Array& params) {
  return {.columns = ColumnNames().of(tree), .conditions = Conditions(params).of(tree)};
}

void add_to(Object& answer, const StatementNeeds& needs) {
  if (needs.columns) {
    Array columns;
    for (const std::string& name : *needs.columns) columns.emplace_back(name);
    answer["columns"] = std::move(columns);
  }
  Array conditions;
  for (const Condition& one : needs.conditions) {
    Array values;
    for (const ConditionValue& value : one.values) {
      if (const auto* moment = std::get_if<Moment>(&value)) {
        values.push_back(Object{{"moment", moment->text}});
      } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
        values.emplace_back(*number);
      } else {
        values.emplace_back(std::get<std::string>(value));
      }
    }
    conditions.push_back(Object{{"namespace", one.table.name_space},
                                {"table", one.table.table},
                                {"column", one.column},
                                {"op", text_of(one.op)},
                                {"values", std::move(values)}});
  }
  answer["conditions"] = std::move(conditions);
}

base::Result<StatementNeeds> read_needs(const Fields& fields) {
  StatementNeeds needs;
  if (fields.has("columns")) {
    ASSIGN_OR_RETURN(auto names, fields.strings("columns"));
    needs.columns.emplace(names.begin(), names.end());
  }
  ASSIGN_OR_RETURN(auto conditions, fields.objects("conditions", kMostConditions));
  for (const Fields& one : conditions) {
    ASSIGN_OR_RETURN(Condition condition, read_condition(one));
    needs.conditions.push_back(std::move(condition));
  }
  return needs;
}

}  // namespace tool::connectors

#include "toolserver/connectors/sql/sql_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "toolserver/connectors/sql/sql_function_call.h"
#include "toolserver/connectors/sql/sql_names.h"
#include "toolserver/connectors/sql/sql_tree.h"

namespace tool::connectors {
namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;
using Kind = Verdict::Kind;

// A tree deeper than this is not from json_serialize_sql under its own limits
// and the parser's.
constexpr int kDepth = 1024;

constexpr auto kPlainExpressions = std::to_array<std::string_view>({
    "BETWEEN",
    "CASE",
    "CAST",
    "COLLATE",
    "COLUMN_REF",
    "COMPARISON",
    "CONJUNCTION",
    "LAMBDA",
    "OPERATOR",

    "POSITIONAL_REFERENCE",
    "STAR",
    "SUBQUERY",
});

// Parts of a tree that only hold other parts.
constexpr auto kPlainNodes = std::to_array<std::string_view>({
    "ARRAY_TYPE_INFO",
    "ASCENDING",
    "DECIMAL_TYPE_INFO",
    "DESCENDING",
    "DISTINCT_MODIFIER",
    "EMPTY",
    "EXPRESSION_LIST",
    "JOIN",
    "LIMIT_MODIFIER",
    "LIMIT_PERCENT_MODIFIER",
    "LIST_TYPE_INFO",
    "ORDER_DEFAULT",
    "ORDER_MODIFIER",
    "PIVOT",
    "STRING_TYPE_INFO",
    "STRUCT_TYPE_INFO",
    "SUBQUERY",
    "UNBOUND_TYPE_INFO",
});

constexpr auto kQueries = std::to_array<std::string_view>({
    "CTE_NODE",
    "RECURSIVE_CTE_NODE",
    "SELECT_NODE",
    "SET_OPERATION_NODE",
});

static_assert(std::ranges::is_sorted(kPlainExpressions) && std::ranges::is_sorted(kPlainNodes));

template <std::size_t n>
bool holds(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

class Walker {
 public:
  explicit Walker(const ScreenRules& rules) : rules_(rules) {}

  Verdict judge(const Value& statement) {
    walk(statement);
    return std::move(verdict_);
  }

 private:
  void walk(const Value& value);
  void walk_object(const Object& object);
  void walk_members(const Object& object, std::string_view except = {});
  void walk_expression(std::string_view kind, const Object& object);
  void walk_query(const Object& object);
  void walk_ctes(const Object& object);
  void walk_table_function(const Object& object);
  void walk_show(const Object& object);
  void check_table(const Object& object);
  void check_qualified(QualifiedName name, std::string_view catalog);
  void check_cte_name(std::string_view name);

  void stop(Kind kind, std::string reason) {
    if (!verdict_.allowed()) return;
    verdict_.kind = kind;
    verdict_.reason = std::move(reason);
  }
  void refuse(std::string reason) { stop(Kind::kRefused, std::move(reason)); }

  const ScreenRules& rules_;
  Verdict verdict_;
  std::vector<std::string> ctes_;  // Visible where the walk is, in lower case.
  int depth_ = 0;
};

void Walker::walk(const Value& value) {
  if (!verdict_.allowed() || (!value.is_array() && !value.is_object())) return;
  if (depth_ >= kDepth) return refuse("the query is nested too deep");
  ++depth_;
  if (value.is_array()) {
    for (const Value& item : value.get_array()) walk(item);
  } else {
    walk_object(value.get_object());
  }
  --depth_;
}

void Walker::walk_members(const Object& object, std::string_view except) {
  for (const auto& [key, value] : object) {
    if (std::string_view(key) != except) walk(value);
  }
}

void Walker::walk_object(const Object& object) {
  if (object.contains("class")) return walk_expression(text_at(object, "class"), object);
  if (object.contains("is_null")) return;  // A constant value, whatever it looks like.
  if (!object.contains("type")) return walk_members(object);
  std::string_view name = text_at(object, "type");
  if (holds(kQueries, name)) return walk_query(object);
  if (name == "TABLE_FUNCTION") return walk_table_function(object);
  if (name == "SHOW_REF") return walk_show(object);
  if (name == "BASE_TABLE") {
    check_table(object);
  } else if (!holds(kPlainNodes, name)) {
    refuse(fmt::format("{} is not allowed", shown(name)));
  }
  walk_members(object);
}

void Walker::walk_expression(std::string_view kind, const Object& object) {
  if (kind == "CONSTANT" || kind == "PARAMETER") return;
  if (kind == "FUNCTION" || kind == "WINDOW") {
    if (auto fault = fault_of_function(object)) return refuse(*std::move(fault));
  } else if (!holds(kPlainExpressions, kind)) {
    refuse(fmt::format("an expression {} is not allowed", shown(kind)));
  }
  walk_members(object);
}

void Walker::walk_table_function(const Object& object) {
  auto call = judge_table_function(object, rules_);
  if (!call) return refuse(std::move(call).error());
  walk_members(*call->function);
  walk_members(object, "function");
  if (call->reads_files) verdict_.names_files = true;
}

void Walker::check_cte_name(std::string_view name) {
  if (!is_identifier(name) || is_engine_name(name)) {
    refuse(fmt::format("WITH {}: the name is not allowed", shown(name)));
  }
  ctes_.push_back(lower_ascii(name));
}

// Each may use the ones before it, and itself; but within itself the engine takes the
// name for that of a table where there is one, so where some are out of reach it is one.
void Walker::walk_ctes(const Object& object) {
  const Value* holder = object.if_contains("cte_map");
  const Value* map =
      holder != nullptr && holder->is_object() ? holder->get_object().if_contains("map") : nullptr;
  if (map == nullptr || !map->is_array()) {
    return refuse("a query without a list of its WITH parts is not allowed");
  }
  for (const Value& entry : map->get_array()) {
    if (!entry.is_object()) return refuse("a WITH part is not known");
    if (rules_.names == TableNames::kSecret) walk(entry);
    check_cte_name(text_at(entry.get_object(), "key"));
    if (rules_.names == TableNames::kTold) walk(entry);
  }
}

void Walker::walk_query(const Object& object) {
  std::size_t outer = ctes_.size();
  bool is_cte = object.contains("cte_name");
  if (is_cte && rules_.names == TableNames::kSecret) {
    walk_ctes(object);
    for (const auto& [key, value] : object) {
      if (key != "cte_map" && key != "child") walk(value);
    }
    check_cte_name(text_at(object, "cte_name"));
    if (const Value* child = object.if_contains("child")) walk(*child);
  } else {
    if (is_cte) check_cte_name(text_at(object, "cte_name"));
    walk_ctes(object);
    walk_members(object, "cte_map");
  }
  ctes_.resize(outer);
}

void Walker::check_table(const Object& object) {
  std::string_view written = text_at(object, "table_name");
  std::string name = lower_ascii(written);
  std::string schema = lower_ascii(text_at(object, "schema_name"));
  std::string catalog = lower_ascii(text_at(object, "catalog_name"));
  const Value* at = object.if_contains("at_clause");
  if (at == nullptr || !at->is_null()) refuse("a table AT a version is not allowed");
  const bool is_bare = schema.empty() && catalog.empty();
  if (is_bare && std::ranges::find(ctes_, name) != ctes_.end()) return;
  if (rules_.naming != Naming::kLoaded) {
    return check_qualified({std::string(text_at(object, "schema_name")), std::string(written)},
                           catalog);
  }
  if (is_bare) {
    if (!is_identifier(written)) {
      if (rules_.raw_files == RawFiles::kAllowed && DataFile::parse(written)) {
        verdict_.names_files = true;
        return;
      }
      return refuse(fmt::format("the file or table '{}' is not allowed", shown(written)));
    }
  }
  if ((!catalog.empty() && catalog != "memory") || (!schema.empty() && schema != "main")) {
    return refuse(fmt::format("tables of {}.{} are not allowed", shown(catalog), shown(schema)));
  }
  if (!is_identifier(written) || is_engine_name(written)) {
    return refuse(fmt::format("the table {} is not allowed", shown(written)));
  }
  if (!rules_.tables.contains(name)) {
    stop(Kind::kUnknownTable, fmt::format("there is no table {}", shown(written)));
  }
}

// A table that was not brought is no table, and the engine must not look for a file of its name.
void Walker::check_qualified(QualifiedName name, std::string_view catalog) {
  if (name.name_space.empty()) {
    return stop(Kind::kUnknownTable,
                fmt::format("there is no table {}: write NAMESPACE.TABLE", shown(name.table)));
  }
  if (!catalog.empty()) {
    return stop(Kind::kUnknownTable,
                fmt::format("there is no table {}.{}.{}: put the levels of a namespace into one "
                            "pair of quotes, \"a.b\".table",
                            shown(catalog), shown(name.name_space), shown(name.table)));
  }
  constexpr auto kEngines = std::to_array<std::string_view>(
      {"information_schema", "main", "memory", "pg_catalog", "system", "temp"});
  if (holds(kEngines, lower_ascii(name.name_space)) || name.table.empty()) {
    return refuse(fmt::format("tables of {} are not allowed", shown(name.name_space)));
  }
  constexpr std::size_t kLongest = 255;
  if (name.name_space.size() > kLongest || name.table.size() > kLongest) {
    return refuse("a name is too long");
  }
  if (rules_.naming == Naming::kNamed) {
    verdict_.named.insert(std::move(name));
  } else if (!rules_.tables.contains(name.key())) {
    stop(Kind::kUnknownTable,
         fmt::format("there is no table {}.{}", shown(name.name_space), shown(name.table)));
  }
}

// DESCRIBE and SUMMARIZE hold a query; the list of tables is no secret but to a
// caller whose rights name some.
void Walker::walk_show(const Object& object) {
  const Value* query = object.if_contains("query");
  std::string_view name = text_at(object, "table_name");
  bool of_query = query != nullptr && query->is_object() && name.empty();
  bool of_tables = rules_.names == TableNames::kTold && query != nullptr && query->is_null() &&
                   (name == "\"tables\"" || name == "__show_tables_expanded");
  if ((!of_query && !of_tables) || !text_at(object, "catalog_name").empty() ||
      !text_at(object, "schema_name").empty()) {
    refuse(fmt::format("SHOW {} is not allowed", shown(name)));
  }
  walk_members(object);
}

// The engine refuses to serialize all but SELECT; a text that it cannot parse
// is the caller's mistake, all else a statement that is not allowed.
Verdict not_serialized(const Object& answer) {
  if (text_at(answer, "error_type") == "parser") {
    return {Kind::kUnreadable, std::string(text_at(answer, "error_message")), false};
  }
  return {Kind::kRefused, "only a SELECT is allowed", false};
}

}  // namespace

std::string QualifiedName::key() const {
  return lower_ascii(name_space) + '\0' + lower_ascii(table);
}

Verdict screen(const Value& tree, const ScreenRules& rules) {
  const Verdict unknown{Kind::kRefused, "the statement is not known", false};
  const Object* answer = tree.if_object();
  if (answer == nullptr) return unknown;
  const Value* error = answer->if_contains("error");
  if (error == nullptr || !error->is_bool()) return unknown;
  if (error->get_bool()) return not_serialized(*answer);
  const Value* statements = answer->if_contains("statements");
  if (statements == nullptr || !statements->is_array()) return unknown;
  if (statements->get_array().size() != 1) {
    return {Kind::kRefused, "exactly one statement is allowed", false};
  }
  const Object* statement = statements->get_array()[0].if_object();
  const Value* node = statement == nullptr ? nullptr : statement->if_contains("node");
  if (node == nullptr || !node->is_object() ||
      !holds(kQueries, text_at(node->get_object(), "type"))) {
    return unknown;
  }
  return Walker(rules).judge(*node);
}

}  // namespace tool::connectors

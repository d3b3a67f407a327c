#include "toolserver/connectors/sql/sql_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>
#include <vector>

#include "toolserver/connectors/sql/sql_function_call.h"
#include "toolserver/connectors/sql/sql_growth.h"
#include "toolserver/connectors/sql/sql_names.h"
#include "toolserver/connectors/sql/sql_reach.h"
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

// Their value is true, false or null, whatever they compare.
constexpr auto kYesOrNo = std::to_array<std::string_view>({"BETWEEN", "COMPARISON", "CONJUNCTION"});

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

// Each walk returns the reach of the part.
class Walker {
 public:
  explicit Walker(const ScreenRules& rules) : rules_(rules) {}

  Verdict judge(const Value& statement) {
    walk(statement);
    return std::move(verdict_);
  }

 private:
  Reach walk(const Value& value);
  Reach walk_array(const Array& array, Combine combine);
  Reach walk_object(const Object& object);
  Reach walk_members(const Object& object, std::string_view except = {});
  Reach walk_expression(std::string_view kind, const Object& object);
  Reach walk_function(std::string_view kind, const Object& object);
  Reach copying(Reach made);
  Reach gathered(Reach made) const;
  Reach walk_cast(const Object& object);
  Reach walk_operator(const Object& object);
  Reach walk_join(const Object& object);
  Reach walk_values(const Object& object);
  Reach walk_query(const Object& object);
  void walk_ctes(const Object& object);
  Reach walk_table_function(const Object& object);
  Reach walk_show(const Object& object);
  Reach check_table(const Object& object);
  void check_cte_name(std::string_view name);

  void stop(Kind kind, std::string reason) {
    if (!verdict_.allowed()) return;
    verdict_.kind = kind;
    verdict_.reason = std::move(reason);
  }
  void refuse(std::string reason) { stop(Kind::kRefused, std::move(reason)); }
  void check_length(double length) {
    if (length > kMostGrowth) {
      stop(Kind::kTooMuch,
           "the query can copy long values into many rows; gather fewer rows, or give the gathered "
           "value as it is");
    }
  }

  const ScreenRules& rules_;
  Verdict verdict_;
  // Visible where the walk is, in lower case.
  std::vector<std::pair<std::string, Reach>> ctes_;
  // What FROM gives, of the queries around the walk; the innermost last.
  std::vector<Reach> froms_;
  double together_ = 0;  // Units of what all calls so far make.
  int depth_ = 0;
};

Reach Walker::walk(const Value& value) {
  if (!verdict_.allowed() || (!value.is_array() && !value.is_object())) return {};
  if (depth_ >= kDepth) {
    refuse("the query is nested too deep");
    return {};
  }
  ++depth_;
  Reach reach = value.is_array() ? walk_array(value.get_array(), Combine::kLargest)
                                 : walk_object(value.get_object());
  --depth_;
  return reach;
}

Reach Walker::walk_array(const Array& array, Combine combine) {
  PartsReach parts;
  for (const Value& item : array) parts.add(walk(item));
  return parts.combined(combine);
}

Reach Walker::walk_members(const Object& object, std::string_view except) {
  Reach largest;
  for (const auto& [key, value] : object) {
    if (std::string_view(key) != except) largest = largest_of(largest, walk(value));
  }
  return largest;
}

Reach Walker::walk_object(const Object& object) {
  if (object.contains("class")) return walk_expression(text_at(object, "class"), object);
  const Value* type = object.if_contains("type");
  if (object.contains("is_null")) return {};  // A constant value, whatever it looks like.
  if (type == nullptr) return walk_members(object);
  std::string_view name = text_at(object, "type");
  if (holds(kQueries, name)) return walk_query(object);
  if (name == "TABLE_FUNCTION") return walk_table_function(object);
  if (name == "SHOW_REF") return walk_show(object);
  if (name == "BASE_TABLE") {
    Reach table = check_table(object);
    Reach rest = walk_members(object);
    rest.rows = 1;
    return largest_of(table, rest);
  }
  if (name == "JOIN") return walk_join(object);
  if (name == "EXPRESSION_LIST") return walk_values(object);
  if (!holds(kPlainNodes, name)) refuse(fmt::format("{} is not allowed", shown(name)));
  Reach reach = walk_members(object);
  if (name == "PIVOT") reach.rows = kNoLimit;
  return reach;
}

Reach Walker::walk_expression(std::string_view kind, const Object& object) {
  if (kind == "CONSTANT" || kind == "PARAMETER") {
    return {.length = growth_of_constant(object, rules_.params)};
  }
  if (kind == "FUNCTION" || kind == "WINDOW") return walk_function(kind, object);
  if (!holds(kPlainExpressions, kind)) {
    refuse(fmt::format("an expression {} is not allowed", shown(kind)));
  }
  if (kind == "CAST") return walk_cast(object);
  if (kind == "OPERATOR") return walk_operator(object);
  Reach reach = walk_members(object);
  if (kind == "COLUMN_REF" || kind == "STAR" || kind == "POSITIONAL_REFERENCE") {
    return largest_of(reach, kColumn);
  }
  if (kind == "COLLATE") return copying(reach);
  if (kind == "SUBQUERY") reach.inner = std::max(reach.inner, reach.copied);
  return holds(kYesOrNo, kind) ? fixed(reach) : reach;
}

Reach Walker::walk_cast(const Object& object) {
  static constexpr auto kFixed = std::to_array<std::string_view>(
      {"BIGINT",   "BOOLEAN",   "DATE",     "DECIMAL",  "DOUBLE",
       "FLOAT",    "HUGEINT",   "INTEGER",  "INTERVAL", "SMALLINT",
       "TIME",     "TIMESTAMP", "TINYINT",  "UBIGINT",  "UHUGEINT",
       "UINTEGER", "USMALLINT", "UTINYINT", "UUID",     "TIMESTAMP WITH TIME ZONE"});
  Reach reach = walk_members(object);
  const Value* type = object.if_contains("cast_type");
  const Object* to = type == nullptr ? nullptr : type->if_object();
  if (to != nullptr && holds(kFixed, text_at(*to, "id"))) return fixed(reach);
  return copying(reach);
}

Reach Walker::walk_operator(const Object& object) {
  static constexpr auto kNoCopy =
      std::to_array<std::string_view>({"OPERATOR_COALESCE", "OPERATOR_TRY"});
  static constexpr auto kTests = std::to_array<std::string_view>(
      {"COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_IS_NOT_NULL", "OPERATOR_IS_NULL", "OPERATOR_NOT"});
  std::string_view type = text_at(object, "type");
  const Value* children = object.if_contains("children");
  if (type == "ARRAY_CONSTRUCTOR" && children != nullptr && children->is_array()) {
    return copying(walk_array(children->get_array(), Combine::kSum));
  }
  Reach reach = walk_members(object);
  if (holds(kTests, type)) return fixed(reach);
  return holds(kNoCopy, type) ? reach : copying(reach);
}

// Rows of one side stand in as many rows as the other has, and the right one
// may be a query over the left.
Reach Walker::walk_join(const Object& object) {
  Reach left;
  Reach right;
  Reach rest;
  for (const auto& [key, value] : object) {
    Reach reach = walk(value);
    if (key == "left") {
      left = reach;
    } else if (key == "right") {
      right = reach;
    } else {
      rest = largest_of(rest, reach);
    }
  }
  Reach made = largest_of(left, right);
  made.rows = times(std::max(1.0, left.rows), std::max(1.0, right.rows));
  if (made.grows) made.length = kNoLimit;
  check_length(times(left.grows ? kNoLimit : left.length, right.copied));
  check_length(times(made.length, rest.copied));
  made.copied = std::max(made.copied, rest.copied);
  return made;
}

Reach Walker::walk_values(const Object& object) {
  Reach reach = walk_members(object);
  const Value* values = object.if_contains("values");
  bool is_list = values != nullptr && values->is_array();
  reach.rows = is_list ? static_cast<double>(values->get_array().size()) : kNoLimit;
  return reach;
}

Reach Walker::walk_function(std::string_view kind, const Object& object) {
  auto call = judge_function(kind, object, rules_.params);
  if (!call) {
    refuse(std::move(call).error());
    return {};
  }
  const Growth& growth = call->growth;
  Reach made = walk_array(*call->arguments, growth.arguments);
  Reach rest = walk_members(object, "children");
  rest.factor = 0;
  made.factor *= growth.own;
  made.length *= growth.own;
  made.spreads |= call->spreads;
  if (growth.gathers) {
    made = gathered(made);
  } else if (growth.most < kMostGrowth) {
    made = fixed(made, made.factor > 0 ? growth.most : std::min(made.length, growth.most));
  } else if (growth.is_listed && made.length > kMostGrowth) {
    stop(Kind::kTooMuch, fmt::format("the query can make values more than {} times longer",
                                     static_cast<int>(kMostGrowth)));
  } else if (call->has_fixed_size) {
    made = fixed(made);
  } else if (call->name != "unnest") {
    made = copying(made);
  }
  return largest_of(made, rest);
}

Reach Walker::walk_table_function(const Object& object) {
  auto call = judge_table_function(object, rules_);
  if (!call) {
    refuse(std::move(call).error());
    return {};
  }
  Reach reach = largest_of(walk_members(*call->function), walk_members(object, "function"));
  if (call->reads_files) {
    verdict_.names_files = true;
    return {.factor = 1, .length = kMostOfColumn, .rows = kNoLimit};
  }
  reach.rows = call->rows;
  return call->copies ? copying(reach) : reach;
}

void Walker::check_cte_name(std::string_view name) {
  if (!is_identifier(name) || is_engine_name(name)) {
    refuse(fmt::format("WITH {}: the name is not allowed", shown(name)));
  }
  ctes_.emplace_back(lower_ascii(name), Reach{.factor = 1, .rows = kNoLimit});
}

// Each may use the ones before it, and itself.
void Walker::walk_ctes(const Object& object) {
  const Value* holder = object.if_contains("cte_map");
  const Value* map =
      holder != nullptr && holder->is_object() ? holder->get_object().if_contains("map") : nullptr;
  if (map == nullptr || !map->is_array()) {
    return refuse("a query without a list of its WITH parts is not allowed");
  }
  for (const Value& entry : map->get_array()) {
    if (!entry.is_object()) return refuse("a WITH part is not known");
    check_cte_name(text_at(entry.get_object(), "key"));
    std::size_t at = ctes_.size() - 1;
    ctes_[at].second = walk(entry);
  }
}

Reach Walker::walk_query(const Object& object) {
  std::size_t outer = ctes_.size();
  if (object.contains("cte_name")) check_cte_name(text_at(object, "cte_name"));
  walk_ctes(object);
  Reach from;
  if (const Value* table = object.if_contains("from_table")) from = walk(*table);
  froms_.push_back(from);
  Reach rest;
  for (const auto& [key, value] : object) {
    if (key == "cte_map" || key == "from_table") continue;
    rest = largest_of(rest, walk(value));
  }
  froms_.pop_back();
  ctes_.resize(outer);
  bool is_recursion = object.contains("cte_name");
  // Of each step, and nobody knows how many there are.
  constexpr double kMostOfStep = 8;
  if (is_recursion && rest.factor > kMostOfStep) {
    stop(Kind::kTooMuch, "each step of a recursion makes values many times longer");
  }
  bool is_multiplied = rest.spreads || rest.inner > 0;
  double given = from.grows && is_multiplied ? kNoLimit : from.length;
  check_length(times(given, rest.copied));
  // What FROM gives is what the rest starts from.
  Reach made = rest;
  made.factor = rest.factor * std::max(1.0, from.factor);
  made.length = std::max(rest.length, times(rest.factor, given));
  made.copied = std::max(from.copied, rest.copied * std::max(1.0, from.factor));
  made.rows = object.contains("select_list") && !rest.spreads ? from.rows : kNoLimit;
  made.spreads = false;
  made.grows = from.grows || rest.grows || (is_recursion && rest.factor > 1);
  return made;
}

// What a call makes of its arguments by copying them.
Reach Walker::copying(Reach made) {
  made.copied = std::max(made.copied, made.factor);
  check_length(made.length);
  together_ += made.length;
  if (together_ > kMostTogether) {
    stop(Kind::kTooMuch, "the query makes too many long values at a time");
  }
  return made;
}

Reach Walker::gathered(Reach made) const {
  double rows = 1;
  double longest = 1;
  for (const Reach& from : froms_) {
    rows = std::max(rows, from.rows);
    longest = std::max(longest, from.length);
  }
  made.length = times(rows, std::max(made.length, times(made.factor, longest)));
  made.factor = 0;
  return made;
}

Reach Walker::check_table(const Object& object) {
  std::string_view written = text_at(object, "table_name");
  std::string name = lower_ascii(written);
  std::string schema = lower_ascii(text_at(object, "schema_name"));
  std::string catalog = lower_ascii(text_at(object, "catalog_name"));
  const Value* at = object.if_contains("at_clause");
  if (at == nullptr || !at->is_null()) refuse("a table AT a version is not allowed");
  if (schema.empty() && catalog.empty()) {
    // The innermost of that name.
    for (const auto& [cte, reach] : ctes_ | std::views::reverse) {
      if (cte != name) continue;
      // The calls inside of it are none over what stands beside it.
      Reach table = reach;
      table.factor = std::max(1.0, table.factor);
      table.copied = table.inner = 0;
      return table;
    }
    if (!is_identifier(written)) {
      if (rules_.raw_files == RawFiles::kAllowed && DataFile::parse(written)) {
        verdict_.names_files = true;
        return {.factor = 1, .length = kMostOfColumn, .rows = kNoLimit};
      }
      refuse(fmt::format("the file or table '{}' is not allowed", shown(written)));
      return {};
    }
  }
  if ((!catalog.empty() && catalog != "memory") || (!schema.empty() && schema != "main")) {
    refuse(fmt::format("tables of {}.{} are not allowed", shown(catalog), shown(schema)));
    return {};
  }
  if (!is_identifier(written) || is_engine_name(written)) {
    refuse(fmt::format("the table {} is not allowed", shown(written)));
    return {};
  }
  auto found = rules_.tables.find(name);
  if (found == rules_.tables.end()) {
    stop(Kind::kUnknownTable, fmt::format("there is no table {}", shown(written)));
    return {};
  }
  double units = static_cast<double>(found->second.widest) / kUnit;
  return {.factor = 1,
          .length = std::clamp(units, 1.0, kMostOfColumn),
          .rows = std::max(1.0, found->second.rows)};
}

// DESCRIBE and SUMMARIZE hold a query; of SHOW, the list of tables is no secret.
Reach Walker::walk_show(const Object& object) {
  const Value* query = object.if_contains("query");
  std::string_view name = text_at(object, "table_name");
  bool of_query = query != nullptr && query->is_object() && name.empty();
  bool of_tables = query != nullptr && query->is_null() &&
                   (name == "\"tables\"" || name == "__show_tables_expanded");
  if ((!of_query && !of_tables) || !text_at(object, "catalog_name").empty() ||
      !text_at(object, "schema_name").empty()) {
    refuse(fmt::format("SHOW {} is not allowed", shown(name)));
  }
  Reach reach = walk_members(object);
  reach.rows = kNoLimit;
  return reach;
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

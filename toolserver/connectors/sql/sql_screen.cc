#include "toolserver/connectors/sql/sql_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>
#include <vector>

#include "toolserver/connectors/sql/raw_files.h"
#include "toolserver/connectors/sql/sql_functions.h"
#include "toolserver/connectors/sql/sql_growth.h"
#include "toolserver/connectors/sql/sql_names.h"

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

// Absent members and those of another kind are "": the rules take that for
// nothing special, and no rule allows a thing for having no name.
std::string_view text_at(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

std::string shown(std::string_view name) {
  constexpr std::size_t kMost = 64;
  return name.size() <= kMost ? std::string(name) : std::string(name.substr(0, kMost)) + "...";
}

// How long a part of a query can make a value: `factor` times what it is given,
// and `length` units for what it brings itself.
struct Reach {
  double factor = 1;
  double length = 1;
};

Reach largest_of(Reach a, Reach b) {
  return {std::max(a.factor, b.factor), std::max(a.length, b.length)};
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
  Reach walk_query(const Object& object);
  void walk_ctes(const Object& object);
  Reach walk_table_function(const Object& object);
  Reach walk_show(const Object& object);
  Reach check_table(const Object& object);
  bool check_qualifiers(const Object& function);
  void check_cte_name(std::string_view name);

  void stop(Kind kind, std::string reason) {
    if (!verdict_.allowed()) return;
    verdict_.kind = kind;
    verdict_.reason = std::move(reason);
  }
  void refuse(std::string reason) { stop(Kind::kRefused, std::move(reason)); }
  Reach limited(Reach reach) {
    if (std::max(reach.factor, reach.length) > kMostGrowth) {
      stop(Kind::kTooMuch, fmt::format("the query can make values more than {} times longer",
                                       static_cast<int>(kMostGrowth)));
    }
    return reach;
  }

  const ScreenRules& rules_;
  Verdict verdict_;
  // Visible where the walk is, in lower case.
  std::vector<std::pair<std::string, Reach>> ctes_;
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
  Reach sum{0, 0};
  Reach product;
  Reach largest;
  for (const Value& item : array) {
    Reach reach = walk(item);
    sum = {sum.factor + reach.factor, sum.length + reach.length};
    product = {product.factor * reach.factor, product.length * reach.length};
    largest = largest_of(largest, reach);
  }
  if (combine == Combine::kProduct) return product;
  return combine == Combine::kSum ? largest_of({}, sum) : largest;
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
  if (name == "BASE_TABLE") return largest_of(check_table(object), walk_members(object));
  if (!holds(kPlainNodes, name)) refuse(fmt::format("{} is not allowed", shown(name)));
  return walk_members(object);
}

Reach Walker::walk_expression(std::string_view kind, const Object& object) {
  if (kind == "CONSTANT" || kind == "PARAMETER") {
    return {1, growth_of_constant(object, rules_.params)};
  }
  if (kind == "FUNCTION" || kind == "WINDOW") return walk_function(kind, object);
  if (!holds(kPlainExpressions, kind)) {
    refuse(fmt::format("an expression {} is not allowed", shown(kind)));
  }
  if (text_at(object, "type") == "ARRAY_CONSTRUCTOR") {
    const Value* children = object.if_contains("children");
    if (children != nullptr && children->is_array()) {
      return limited(walk_array(children->get_array(), Combine::kSum));
    }
  }
  Reach reach = walk_members(object);
  return holds(kYesOrNo, kind) ? Reach{} : reach;
}

// `column.upper()` parses as upper in a schema `column`, so any schema may
// stand there but those that exist; the name alone decides what it is.
bool Walker::check_qualifiers(const Object& function) {
  std::string schema = lower_ascii(text_at(function, "schema"));
  std::string catalog = lower_ascii(text_at(function, "catalog"));
  if ((catalog.empty() || catalog == "system") && !is_engine_name(schema) && schema != "temp") {
    return true;
  }
  refuse(fmt::format("functions of {}.{} are not allowed", shown(catalog), shown(schema)));
  return false;
}

Reach Walker::walk_function(std::string_view kind, const Object& object) {
  std::string name = lower_ascii(text_at(object, "function_name"));
  const Value* children = object.if_contains("children");
  if (!is_pure_function(name) || children == nullptr || !children->is_array()) {
    refuse(fmt::format("the function {} is not allowed", shown(name)));
    return {};
  }
  if (!check_qualifiers(object)) return {};
  auto growth = growth_of(name, children->get_array(), rules_.params);
  if (!growth) {
    refuse(growth.error());
    return {};
  }
  // Each row would hold what all the rows before it hold.
  if (kind == "WINDOW" && growth->least > 1) {
    refuse(fmt::format("the function {} is not allowed with OVER", shown(name)));
    return {};
  }
  Reach made = walk_array(children->get_array(), growth->arguments);
  made.factor *= growth->own;
  made.length = std::max(made.length * growth->own, growth->least);
  if (growth->is_listed) limited(made);
  return largest_of(made, walk_members(object, "children"));
}

Reach Walker::walk_table_function(const Object& object) {
  const Value* call = object.if_contains("function");
  if (call == nullptr || !call->is_object() || text_at(call->get_object(), "class") != "FUNCTION") {
    refuse("a table function that is not a plain call is not allowed");
    return {};
  }
  const Object& function = call->get_object();
  std::string name = lower_ascii(text_at(function, "function_name"));
  const Value* children = function.if_contains("children");
  bool plain = lower_ascii(text_at(function, "schema")).empty() ||
               lower_ascii(text_at(function, "schema")) == "main";
  bool reader = rules_.raw_files == RawFiles::kAllowed && is_file_reader(name);
  if (!plain || (!is_pure_table_function(name) && !reader) || children == nullptr ||
      !children->is_array() || !check_qualifiers(function)) {
    refuse(fmt::format("the table function {} is not allowed", shown(name)));
    return {};
  }
  if (reader) {
    auto reason = reader_refusal(name, children->get_array());
    if (reason) refuse(*std::move(reason));
    verdict_.names_files = true;
  }
  return largest_of(walk_members(function), walk_members(object, "function"));
}

void Walker::check_cte_name(std::string_view name) {
  if (!is_identifier(name) || is_engine_name(name)) {
    refuse(fmt::format("WITH {}: the name is not allowed", shown(name)));
  }
  ctes_.emplace_back(lower_ascii(name), Reach{});
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
  Reach rest;
  for (const auto& [key, value] : object) {
    if (key == "cte_map") continue;
    Reach& part = key == "from_table" ? from : rest;
    part = largest_of(part, walk(value));
  }
  ctes_.resize(outer);
  // Of each step, and nobody knows how many there are.
  constexpr double kMostOfStep = 8;
  if (object.contains("cte_name") && rest.factor > kMostOfStep) {
    stop(Kind::kTooMuch, "each step of a recursion makes values many times longer");
  }
  // What FROM gives is what the rest starts from.
  Reach made{rest.factor * from.factor, std::max(rest.length, rest.factor * from.length)};
  // A long text of the caller's own is none that the query made.
  return rest.factor > 1 ? limited(made) : made;
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
      if (cte == name) return reach;
    }
    if (!is_identifier(written)) {
      if (rules_.raw_files == RawFiles::kAllowed && DataFile::parse(written)) {
        verdict_.names_files = true;
        return {};
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
  if (!rules_.tables.contains(name)) {
    stop(Kind::kUnknownTable, fmt::format("there is no table {}", shown(written)));
  }
  return {};
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
  return walk_members(object);
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

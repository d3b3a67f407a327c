#pragma once

// What a statement reads of the tables that it names, so that no more of their files need be
// fetched: which columns, and which rows at most. Both are told only where the tree leaves no
// doubt; else it is all columns, and all rows. A column that is not told cannot be reached by the
// statement: whoever makes its view leaves it out. Source: DuckDB 1.5.5, json_serialize_sql.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/json/fields.h"
#include "base/json/json.h"
#include "toolserver/connectors/sql/sql_screen.h"

namespace tool::connectors {

/// DATE '2026-11-27' or TIMESTAMP '2026-11-27 08:00:00': the text. A text that is compared with it
/// is a date first.
struct Moment {
  std::string text;
  friend bool operator==(const Moment&, const Moment&) = default;
};

/// What a constant of a condition may be; all else is no condition.
using ConditionValue = std::variant<std::int64_t, std::string, Moment>;

/// Of a top-level column of one table; each row that the statement reads satisfies it.
struct Condition {
  enum class Op : std::uint8_t { kEq, kLt, kLtEq, kGt, kGtEq, kIn, kIsNull, kNotNull };
  QualifiedName table;
  std::string column;  ///< As the statement spells it.
  Op op = Op::kEq;
  std::vector<ConditionValue> values = {};  ///< One; several of kIn; none of the last two.
};

struct StatementNeeds {
  /// In lower case: every name that may be one of a column. Nothing: all columns of all tables.
  std::optional<std::set<std::string>> columns;
  std::vector<Condition> conditions;
};

/// Of a tree that screen() has let through, with the values of $1, $2 and on. Pure.
[[nodiscard]] StatementNeeds needs_of(const base::json::Value& tree,
                                      const base::json::Array& params);

/// Adds the members "columns" and "conditions".
void add_to(base::json::Object& answer, const StatementNeeds& needs);
/// Errors: kInvalid  names the member.
[[nodiscard]] base::Result<StatementNeeds> read_needs(const base::json::Fields& fields);

}  // namespace tool::connectors

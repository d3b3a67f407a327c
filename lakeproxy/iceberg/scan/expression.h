#pragma once

// The filter of a scan. A client sends it as JSON with the names of columns; bound to a schema it
// has field ids and values of the columns' types. Both come from strangers and are bounded.
// Sources: Iceberg REST description, "Predicate" and the schemas below it, the deprecated forms
// with "term" and "value" included, since clients send those; Iceberg table specification,
// "Scan Planning".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/schema/partition_spec.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::scan {

inline constexpr std::size_t kMostDepth = 200;      ///< Of "and", "or" and "not" in each other.
inline constexpr std::size_t kMostNodes = 10'000;   ///< Of these and of predicates.
inline constexpr std::size_t kMostValues = 50'000;  ///< Of all predicates together.

enum class Op : std::uint8_t {
  kTrue,
  kFalse,
  kAnd,
  kOr,
  kNot,
  // Predicates.
  kIsNull,
  kNotNull,
  kIsNan,
  kNotNan,
  kLt,
  kLtEq,
  kGt,
  kGtEq,
  kEq,
  kNotEq,
  kStartsWith,
  kNotStartsWith,
  kIn,
  kNotIn,
};

/// A column, or a transform of one.
struct Term {
  std::optional<model::FieldId> id;  ///< Nothing: found by `name`.
  std::string name;
  model::Transform transform;
};

/// As the client sent it.
struct Expression {
  Op op = Op::kTrue;
  std::vector<Expression> children;       ///< Two of "and" and "or", one of "not".
  Term term;                              ///< Of a predicate.
  std::vector<base::json::Value> values;  ///< One; of "in" and "not-in" any number.
};

/// `path` is where the filter stands, "filter".
/// Errors: kInvalid  no predicate of the description, or over one of the bounds above; names the
///         path and the rule.
[[nodiscard]] base::Result<Expression> expression_from_json(const base::json::Value& json,
                                                            std::string_view path);

/// Where a value lies that the type of its column cannot hold.
enum class Place : std::uint8_t { kInside, kBelow, kAbove };

/// "not-eq"
[[nodiscard]] std::string_view to_string(Op op);

/// A predicate on one column.
struct Predicate {
  Op op = Op::kIsNull;
  model::FieldId field_id = 0;
  model::Type source{model::TypeKind::kUnknown};  ///< The column's.
  model::Transform transform;
  model::Type type{model::TypeKind::kUnknown};  ///< Of the term's values.
  bool in_struct = false;                       ///< The column stands in a struct.
  /// One; of "in" and "not-in" rising, without equal ones, and without those that no row has.
  std::vector<model::Literal> values;
  Place place = Place::kInside;  ///< Of the one value; then `values` is empty.
  std::string json;              ///< As clients read it back.
};

/// An expression whose predicates are numbered.
struct Node {
  Op op = Op::kTrue;  ///< For a predicate that of the predicate.
  std::vector<Node> children;
  std::size_t predicate = 0;
};

/// A filter that is bound to a schema.
struct Filter {
  Node root;
  std::vector<Predicate> predicates;

  [[nodiscard]] bool is_true() const { return root.op == Op::kTrue; }
};

enum class NameCase : std::uint8_t { kSensitive, kInsensitive };

/// The columns of a schema by their full names, "a.b" for a field of a struct. Borrows the schema.
class Columns {
 public:
  struct Column {
    const model::Field* field = nullptr;
    std::string name;  ///< Full.
    bool in_struct = false;
    bool in_list = false;  ///< Or in a map.
  };

  Columns(const model::Schema& schema, NameCase names);
  /// Errors: kInvalid  none, or more than one that differ in case; names `path`.
  [[nodiscard]] base::Result<const Column*> find(std::string_view name,
                                                 std::string_view path) const;
  /// Null when there is none.
  [[nodiscard]] const Column* find(model::FieldId id) const;

 private:
  void add(const std::vector<model::Field>& fields, const Column& parent);
  [[nodiscard]] std::string key_of(std::string_view name) const;

  NameCase names_;
  std::vector<Column> columns_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_name_;
  std::unordered_map<model::FieldId, std::size_t> by_id_;
};

/// Values are read as the column's type has them in JSON. Taken besides, since clients send it:
/// an integer for a date (days), a time or a timestamp (microseconds) and a decimal, a decimal of
/// another scale where no digit is lost, a timestamp with any offset, or with none where it is
/// UTC, and an integer or a decimal
/// that the column cannot hold, which no row has.
/// Errors: kInvalid  no such column, one in a list or a map, a value that is not of its type, NaN,
///         or a transform that does not take it; names the path and the rule.
[[nodiscard]] base::Result<Filter> bind(const Expression& expression, const Columns& columns,
                                        std::string_view path);

}  // namespace lake::scan

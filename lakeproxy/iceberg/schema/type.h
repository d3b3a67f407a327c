#pragma once

// Iceberg's types as values. A nested type is shared, never changed, so a
// schema can be copied at the cost of its top-level fields.
// Source: Iceberg table specification, "Schemas and Data Types".

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/iceberg/schema/literal.h"
#include "lakeproxy/model/ids.h"

namespace lake::model {

enum class TypeKind : std::uint8_t {
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kTimestamptz,
  kString,
  kUuid,
  kFixed,
  kBinary,
  // Format version 3.
  kTimestampNs,
  kTimestamptzNs,
  kUnknown,
  kVariant,
  kGeometry,
  kGeography,
  // Nested.
  kStruct,
  kList,
  kMap,
};

/// Whether only tables of format version 3 can have such a column.
[[nodiscard]] constexpr bool is_version_3_type(TypeKind kind) {
  return kind >= TypeKind::kTimestampNs && kind <= TypeKind::kGeography;
}

struct Field;

class Type {
 public:
  /// A primitive without parameters. `kind` is none of decimal, fixed,
  /// geometry, geography, struct, list, map.
  explicit Type(TypeKind kind) : kind_(kind) {}
  /// precision 1 to 38, scale 0 to precision.
  [[nodiscard]] static Type decimal(int precision, int scale);
  [[nodiscard]] static Type fixed(int length);
  /// `parameters` is the text between the brackets, e.g. "srid:3857"; may be empty.
  [[nodiscard]] static Type geo(TypeKind kind, std::string parameters);
  [[nodiscard]] static Type structure(std::vector<Field> fields);
  /// The element is a field named "element".
  [[nodiscard]] static Type list(FieldId element_id, Type element, bool element_required);
  /// Fields named "key" (always required) and "value".
  [[nodiscard]] static Type map(FieldId key_id, Type key, FieldId value_id, Type value,
                                bool value_required);

  [[nodiscard]] TypeKind kind() const { return kind_; }
  [[nodiscard]] bool is_primitive() const { return kind_ < TypeKind::kStruct; }
  [[nodiscard]] int precision() const { return precision_; }
  [[nodiscard]] int scale() const { return scale_; }
  [[nodiscard]] int length() const { return precision_; }
  [[nodiscard]] const std::string& parameters() const { return parameters_; }
  /// The fields of a struct; element of a list; key and value of a map.
  [[nodiscard]] const std::vector<Field>& children() const;

  /// "decimal(9, 2)", "fixed[16]", "timestamptz"; "struct", "list", "map".
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Type& a, const Type& b);

 private:
  TypeKind kind_;
  int precision_ = 0;
  int scale_ = 0;
  std::string parameters_;
  std::shared_ptr<const std::vector<Field>> children_;
};

struct Field {
  FieldId id = 0;
  std::string name;
  Type type{TypeKind::kUnknown};
  bool required = false;
  std::optional<std::string> doc;
  std::optional<Literal> initial_default;  ///< Format version 3.
  std::optional<Literal> write_default;    ///< Format version 3.

  friend bool operator==(const Field&, const Field&) = default;
};

/// Parses a primitive type's text, e.g. "decimal(9,2)".
/// Errors: kInvalid  not a primitive type of Iceberg.
[[nodiscard]] base::Result<Type> parse_primitive_type(std::string_view text);

}  // namespace lake::model

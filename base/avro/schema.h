#pragma once

// The schema that an Avro file was written with. A reader of foreign files
// walks this schema rather than one of its own, so fields in another order,
// fields it has never heard of and unions turned round need no special case.
// Attributes that Avro does not define (ids, logical types) are kept.
// Source: Apache Avro 1.12 specification, "Schema Declaration".

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"

namespace base::avro {

enum class Type : std::uint8_t {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kRecord,
  kEnum,
  kArray,
  kMap,
  kUnion,
  kFixed,
};

struct Node;

struct Field {
  std::string name;
  const Node* type = nullptr;
  json::Object attributes;  ///< The whole field object, "name" and "type" apart.
};

/// One type of a schema. A recursive record refers back to its own node.
struct Node {
  Type type = Type::kNull;
  std::string name;                   ///< Full name of a record, enum or fixed.
  std::vector<Field> fields;          ///< Of a record, in the writer's order.
  std::vector<std::string> symbols;   ///< Of an enum.
  std::vector<const Node*> branches;  ///< Of a union; items of an array, values of a map.
  std::size_t size = 0;               ///< Bytes of a fixed.
  std::string logical_type;           ///< Empty when there is none.
  json::Object attributes;            ///< Whatever the definition holds beside its structure.
};

struct SchemaLimits {
  json::Limits json{.bytes = 16 * 1024 * 1024, .depth = 128, .values = 1'000'000};
  std::size_t nodes = 200'000;  ///< Types and record fields together.
};

/// Owns the nodes; moving it keeps their addresses.
class Schema {
 public:
  /// Errors: kInvalid  not JSON, not an Avro schema, an unknown or doubly
  ///         defined name; kTooLarge  over a limit.
  [[nodiscard]] static Result<Schema> parse(std::string_view text, SchemaLimits limits = {});

  [[nodiscard]] const Node& root() const { return *root_; }

 private:
  friend class SchemaParser;
  std::vector<std::unique_ptr<Node>> nodes_;
  const Node* root_ = nullptr;
};

/// The integer attribute of that name, e.g. int_attribute(field.attributes,
/// "field-id"); nothing when absent or not an integer.
[[nodiscard]] std::optional<std::int64_t> int_attribute(const json::Object& attributes,
                                                        std::string_view name);

/// The branch that holds a value: the only one that is not null. Any other
/// node, and a union of several such branches, is returned as it is.
[[nodiscard]] const Node& without_null(const Node& node);

}  // namespace base::avro

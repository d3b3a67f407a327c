#include "lakeproxy/iceberg/manifest/avro_values.h"

#include <fmt/format.h>

#include <limits>

#include "base/core/text.h"
#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::materialize {
namespace {

using base::Result;
using base::avro::Value;
using model::Literal;
using model::Type;
using model::TypeKind;

constexpr std::int64_t kMaxPrecision = 38;

base::Error corrupt(std::string message) {
  return base::fail(base::ErrorKind::kCorrupt, "manifest: " + std::move(message));
}

base::Error wrong(std::string_view what, std::string_view rule) {
  return corrupt(fmt::format("{} {}", what, rule));
}

base::Error not_of(const Type& type) {
  return corrupt(fmt::format("a partition value is not of type {}", type.to_string()));
}

Result<Literal> number_of(Value value, const Type& type) {
  const auto number = value.number();
  if (!number) return not_of(type);
  if (type.kind() == TypeKind::kDouble) return Literal(*number);
  if (value.type() != base::avro::Type::kFloat) return not_of(type);
  return Literal(static_cast<float>(*number));
}

Result<Literal> integer_of(Value value, const Type& type) {
  const auto integer = value.integer();
  if (!integer) return not_of(type);
  if (type.kind() != TypeKind::kInt && type.kind() != TypeKind::kDate) return Literal(*integer);
  if (*integer < std::numeric_limits<std::int32_t>::min() ||
      *integer > std::numeric_limits<std::int32_t>::max()) {
    return not_of(type);
  }
  return Literal(static_cast<std::int32_t>(*integer));
}

// A UUID is 16 bytes, or its text with writers that have no fixed type.
Result<Literal> uuid_of(std::string_view bytes, Value value, const Type& type) {
  if (value.type() == base::avro::Type::kString) {
    const auto uuid = base::parse_uuid(bytes);
    if (!uuid) return not_of(type);
    return Literal(*uuid);
  }
  auto literal = decode_single_value(bytes, type);
  if (!literal) return not_of(type);
  return literal;
}

}  // namespace

const std::vector<std::int32_t>& FieldIds::of(const base::avro::Node& record) {
  auto [at, is_new] = ids_.try_emplace(&record);
  if (!is_new) return at->second;
  for (const base::avro::Field& field : record.fields) {
    std::int64_t id = base::avro::int_attribute(field.attributes, "field-id").value_or(kNoFieldId);
    if (id < 0 || id > std::numeric_limits<std::int32_t>::max()) id = kNoFieldId;
    for (const KnownField& known : known_) {
      if (id == kNoFieldId && known.name == field.name) id = known.id;
    }
    at->second.push_back(static_cast<std::int32_t>(id));
  }
  return at->second;
}

Result<std::int64_t> long_of(Value value, std::string_view what) {
  const auto integer = value.integer();
  if (!integer) return wrong(what, "must be an integer");
  return *integer;
}

Result<std::int64_t> count_of(Value value, std::string_view what) {
  ASSIGN_OR_RETURN(const std::int64_t count, long_of(value, what));
  if (count < 0) return wrong(what, "must not be negative");
  return count;
}

Result<std::int32_t> int_of(Value value, std::string_view what) {
  ASSIGN_OR_RETURN(const std::int64_t integer, long_of(value, what));
  if (integer < std::numeric_limits<std::int32_t>::min() ||
      integer > std::numeric_limits<std::int32_t>::max()) {
    return wrong(what, "must fit 32 bits");
  }
  return static_cast<std::int32_t>(integer);
}

Result<bool> boolean_of(Value value, std::string_view what) {
  const auto boolean = value.boolean();
  if (!boolean) return wrong(what, "must be a boolean");
  return *boolean;
}

Result<std::string> bytes_of(Value value, std::string_view what) {
  const auto bytes = value.bytes();
  if (!bytes) return wrong(what, "must be text or bytes");
  return std::string(*bytes);
}

Result<std::string> path_of(Value value, std::string_view what) {
  const auto bytes = value.bytes();
  if (bytes && bytes->size() > kMostPathBytes) {
    return wrong(what, fmt::format("is longer than {} bytes", kMostPathBytes));
  }
  return bytes_of(value, what);
}

Type type_of(const base::avro::Node& node) {
  switch (node.type) {
    case base::avro::Type::kBoolean: return Type(TypeKind::kBoolean);
    case base::avro::Type::kInt: return Type(TypeKind::kInt);
    case base::avro::Type::kLong: return Type(TypeKind::kLong);
    case base::avro::Type::kFloat: return Type(TypeKind::kFloat);
    case base::avro::Type::kDouble: return Type(TypeKind::kDouble);
    case base::avro::Type::kString: return Type(TypeKind::kString);
    default: break;
  }
  if (node.logical_type == "uuid" && node.size == 16) return Type(TypeKind::kUuid);
  const auto precision = base::avro::int_attribute(node.attributes, "precision").value_or(0);
  const auto scale = base::avro::int_attribute(node.attributes, "scale").value_or(0);
  if (node.logical_type == "decimal" && precision > 0 && precision <= kMaxPrecision && scale >= 0 &&
      scale <= precision) {
    return Type::decimal(static_cast<int>(precision), static_cast<int>(scale));
  }
  return Type(TypeKind::kBinary);
}

Result<Literal> literal_of(Value value, const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean: {
      const auto boolean = value.boolean();
      if (!boolean) return not_of(type);
      return Literal(*boolean);
    }
    case TypeKind::kFloat:
    case TypeKind::kDouble: return number_of(value, type);
    case TypeKind::kString:
    case TypeKind::kUuid:
    case TypeKind::kFixed:
    case TypeKind::kBinary:
    case TypeKind::kDecimal: break;
    default: return integer_of(value, type);
  }
  const auto bytes = value.bytes();
  if (!bytes) return not_of(type);
  if (type.kind() == TypeKind::kUuid) return uuid_of(*bytes, value, type);
  auto literal = decode_single_value(*bytes, type);
  if (!literal) return not_of(type);
  return literal;
}

}  // namespace lake::materialize

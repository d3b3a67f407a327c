#include "lakeproxy/iceberg/manifest/partition_struct.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <set>

#include "base/json/json.h"
#include "lakeproxy/iceberg/manifest/avro_fields.h"
#include "lakeproxy/iceberg/value/single_value.h"
#include "lakeproxy/iceberg/value/transform.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using model::TransformKind;
using model::Type;
using model::TypeKind;

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The code point at `i`, which moves behind it. The text is UTF-8; a byte that
// is not counts as itself.
std::uint32_t next_code_point(std::string_view text, std::size_t& i) {
  const auto first = static_cast<unsigned char>(text[i++]);
  const int tail = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  std::uint32_t point = tail == 0 ? first : first & (0x3FU >> tail);
  for (int n = 0; n < tail && i < text.size(); ++n) {
    point = point << 6 | (static_cast<unsigned char>(text[i++]) & 0x3F);
  }
  return point;
}

// Bytes that a two's complement number of that many decimal digits needs.
std::size_t decimal_bytes(int precision) {
  // No power of ten is a power of two, so the number of bits is not whole.
  const double bits = std::ceil(precision * std::log2(10.0)) + 1;
  return static_cast<std::size_t>(std::ceil(bits / 8));
}

std::string logical(std::string_view type, std::string_view logical_type) {
  return fmt::format(R"({{"type":{},"logicalType":"{}"}})", type, logical_type);
}

std::string timestamp(std::string_view logical_type, bool adjust_to_utc) {
  return fmt::format(R"({{"type":"long","logicalType":"{}","adjust-to-utc":{}}})", logical_type,
                     adjust_to_utc);
}

// Named types are defined once in a schema. Not every reader knows a
// reference by name, so a second use gets a name of its own.
std::string fixed_name(std::string base, std::int32_t field_id, std::set<std::string>& names) {
  if (!names.insert(base).second) base += fmt::format("_{}", field_id);
  names.insert(base);
  return base;
}

// Of a UUID or a decimal.
std::string fixed_type(const PartitionColumn& column, std::set<std::string>& names) {
  const Type& type = column.type;
  if (type.kind() == TypeKind::kUuid) {
    return fmt::format(R"({{"type":"fixed","name":"{}","size":16,"logicalType":"uuid"}})",
                       fixed_name("uuid_fixed", column.field_id, names));
  }
  return fmt::format(
      R"({{"type":"fixed","name":"{}","size":{},"logicalType":"decimal","precision":{},"scale":{}}})",
      fixed_name(fmt::format("decimal_{}_{}", type.precision(), type.scale()), column.field_id,
                 names),
      decimal_bytes(type.precision()), type.precision(), type.scale());
}

std::string avro_type(const PartitionColumn& column, std::set<std::string>& names) {
  switch (column.type.kind()) {
    case TypeKind::kBoolean: return std::string(kAvroBoolean);
    case TypeKind::kInt: return std::string(kAvroInt);
    case TypeKind::kLong: return std::string(kAvroLong);
    case TypeKind::kFloat: return R"("float")";
    case TypeKind::kDouble: return R"("double")";
    case TypeKind::kDate: return logical(kAvroInt, "date");
    case TypeKind::kTime: return logical(kAvroLong, "time-micros");
    case TypeKind::kTimestamp: return timestamp("timestamp-micros", false);
    case TypeKind::kTimestamptz: return timestamp("timestamp-micros", true);
    case TypeKind::kTimestampNs: return timestamp("timestamp-nanos", false);
    case TypeKind::kTimestamptzNs: return timestamp("timestamp-nanos", true);
    case TypeKind::kString: return std::string(kAvroString);
    // The specification has a fixed here. The Java implementation puts a length
    // before it and expects one, against the schema, so that it cannot read
    // what the specification says; bytes of that length are read by all.
    case TypeKind::kFixed:
    case TypeKind::kBinary: return std::string(kAvroBytes);
    default: return fixed_type(column, names);
  }
}

void put_decimal(base::avro::Encoder& out, __int128 value, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = size; i > 0; --i, value >>= 8) bytes[i - 1] = static_cast<char>(value);
  out.put_fixed(bytes);
}

void put_literal(base::avro::Encoder& out, const model::Literal& value, const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean: return out.put_boolean(std::get<bool>(value));
    case TypeKind::kInt:
    case TypeKind::kDate: return out.put_long(std::get<std::int32_t>(value));
    case TypeKind::kFloat: return out.put_float(std::get<float>(value));
    case TypeKind::kDouble: return out.put_double(std::get<double>(value));
    case TypeKind::kString: return out.put_bytes(std::get<std::string>(value));
    case TypeKind::kFixed:
    case TypeKind::kBinary: return out.put_bytes(std::get<model::Bytes>(value).value);
    case TypeKind::kUuid: return out.put_fixed(encode_single_value(value));
    case TypeKind::kDecimal:
      return put_decimal(out, std::get<model::Decimal>(value).unscaled,
                         decimal_bytes(type.precision()));
    default: return out.put_long(std::get<std::int64_t>(value));
  }
}

// The value's alternative is the type's; a fixed has its length, and a decimal
// fits the bytes that the Avro schema gives it.
bool fits(const model::Literal& value, const Type& type) {
  if (!has_alternative_of(value, type)) return false;
  if (type.kind() == TypeKind::kFixed) {
    return std::get<model::Bytes>(value).value.size() == static_cast<std::size_t>(type.length());
  }
  if (type.kind() == TypeKind::kDecimal) {
    return encode_single_value(value).size() <= decimal_bytes(type.precision());
  }
  return true;
}

}  // namespace

base::Result<std::vector<PartitionColumn>> partition_columns(const model::Schema& schema,
                                                             const model::PartitionSpec& spec) {
  std::vector<PartitionColumn> columns;
  columns.reserve(spec.fields.size());
  for (const model::PartitionField& field : spec.fields) {
    const model::Field* source = schema.find(field.source_id);
    if (source == nullptr && field.transform.kind == TransformKind::kVoid) {
      columns.push_back({field.field_id, field.name, Type(TypeKind::kInt)});
      continue;
    }
    if (source == nullptr) {
      return base::fail(ErrorKind::kInvalid,
                        fmt::format("partition field '{}': the schema has no column with id {}",
                                    field.name, field.source_id));
    }
    auto type = transform_result_type(field.transform, source->type);
    if (!type) return std::move(type).error().with_context("partition field '" + field.name + "'");
    columns.push_back({field.field_id, field.name, std::move(*type)});
  }
  return columns;
}

std::string avro_name(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const char c = name[i];
    if (is_ascii_letter(c) || c == '_' || (is_digit(c) && i > 0)) {
      out.push_back(c);
      ++i;
    } else if (is_digit(c)) {
      out.push_back('_');
      out.push_back(c);
      ++i;
    } else if (const std::uint32_t point = next_code_point(name, i); point < 0x10000) {
      out += fmt::format("_x{:X}", point);
    } else {
      out += fmt::format("_x{:X}_x{:X}", 0xD7C0 + (point >> 10), 0xDC00 + (point & 0x3FF));
    }
  }
  return out.empty() ? "_" : out;
}

std::string partition_record_type(const std::vector<PartitionColumn>& columns) {
  std::vector<std::string> fields;
  std::set<std::string> field_names;
  std::set<std::string> type_names;
  for (const PartitionColumn& column : columns) {
    std::string name = avro_name(column.name);
    if (!field_names.insert(name).second) {
      name += fmt::format("_{}", column.field_id);
      field_names.insert(name);
    }
    std::string field = optional_field(name, avro_type(column, type_names), column.field_id);
    if (name != column.name) {
      field.back() = ',';
      field += R"("iceberg-field-name":)";
      base::json::append_quoted(field, column.name);
      field.push_back('}');
    }
    fields.push_back(std::move(field));
  }
  return record_type("r102", fields);
}

base::Status check_partition(const std::vector<PartitionColumn>& columns,
                             const model::PartitionTuple& tuple) {
  if (tuple.size() != columns.size()) {
    return base::fail(ErrorKind::kInvalid,
                      fmt::format("a partition tuple of {} values for a spec of {} fields",
                                  tuple.size(), columns.size()));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (tuple[i] && !fits(*tuple[i], columns[i].type)) {
      return base::fail(ErrorKind::kInvalid,
                        fmt::format("partition field '{}': the value is not of type {}",
                                    columns[i].name, columns[i].type.to_string()));
    }
  }
  return {};
}

void put_partition(base::avro::Encoder& out, const std::vector<PartitionColumn>& columns,
                   const model::PartitionTuple& tuple) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out.put_branch(tuple[i] ? 1 : 0);
    if (tuple[i]) put_literal(out, *tuple[i], columns[i].type);
  }
}

}  // namespace lake::materialize

#include "lakeproxy/iceberg/value/single_value.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/core/text.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using model::Literal;
using model::TypeKind;

constexpr std::size_t kMaxDecimalBytes = 16;

template <class T>
std::string little_endian(T bits) {
  std::string out(sizeof(T), '\0');
  for (std::size_t i = 0; i < sizeof(T); ++i) out[i] = static_cast<char>(bits >> (8 * i));
  return out;
}

template <class T>
T from_little_endian(std::string_view bytes) {
  T bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i));
  }
  return bits;
}

// Two's complement, big-endian, no byte more than the sign needs.
std::string shortest_big_endian(__int128 value) {
  std::string out;
  do {
    out.insert(out.begin(), static_cast<char>(value & 0xFF));
    value >>= 8;
  } while (out.size() < kMaxDecimalBytes &&
           value != (static_cast<signed char>(out.front()) < 0 ? -1 : 0));
  return out;
}

struct Encode {
  std::string operator()(bool value) const { return std::string(1, value ? '\1' : '\0'); }
  std::string operator()(std::int32_t value) const {
    return little_endian(static_cast<std::uint32_t>(value));
  }
  std::string operator()(std::int64_t value) const {
    return little_endian(static_cast<std::uint64_t>(value));
  }
  std::string operator()(float value) const {
    return little_endian(std::bit_cast<std::uint32_t>(value));
  }
  std::string operator()(double value) const {
    return little_endian(std::bit_cast<std::uint64_t>(value));
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const base::Uuid& value) const {
    return std::string(value.begin(), value.end());
  }
  std::string operator()(const model::Bytes& value) const { return value.value; }
  std::string operator()(const model::Decimal& value) const {
    return shortest_big_endian(value.unscaled);
  }
};

base::Error wrong_length(const model::Type& type, std::size_t size) {
  return base::fail(ErrorKind::kInvalid,
                    fmt::format("a value of type {} cannot have {} bytes", type.to_string(), size));
}

base::Result<Literal> decode_boolean(std::string_view bytes, const model::Type& type) {
  if (bytes.size() != 1) return wrong_length(type, bytes.size());
  if (bytes[0] != '\0' && bytes[0] != '\1') {
    return base::fail(ErrorKind::kInvalid, "a boolean must be 0 or 1");
  }
  return Literal(bytes[0] == '\1');
}

base::Result<Literal> decode_int(std::string_view bytes, const model::Type& type) {
  if (bytes.size() != 4) return wrong_length(type, bytes.size());
  return Literal(static_cast<std::int32_t>(from_little_endian<std::uint32_t>(bytes)));
}

base::Result<Literal> decode_long(std::string_view bytes, const model::Type& type) {
  if (type.kind() == TypeKind::kLong && bytes.size() == 4) {
    const auto narrow = static_cast<std::int32_t>(from_little_endian<std::uint32_t>(bytes));
    return Literal(static_cast<std::int64_t>(narrow));
  }
  if (bytes.size() != 8) return wrong_length(type, bytes.size());
  return Literal(static_cast<std::int64_t>(from_little_endian<std::uint64_t>(bytes)));
}

base::Result<Literal> decode_float(std::string_view bytes, const model::Type& type) {
  if (bytes.size() != 4) return wrong_length(type, bytes.size());
  return Literal(std::bit_cast<float>(from_little_endian<std::uint32_t>(bytes)));
}

base::Result<Literal> decode_double(std::string_view bytes, const model::Type& type) {
  if (bytes.size() == 4) {
    const auto narrow = std::bit_cast<float>(from_little_endian<std::uint32_t>(bytes));
    return Literal(static_cast<double>(narrow));
  }
  if (bytes.size() != 8) return wrong_length(type, bytes.size());
  return Literal(std::bit_cast<double>(from_little_endian<std::uint64_t>(bytes)));
}

base::Result<Literal> decode_string(std::string_view bytes) {
  if (!base::is_utf8(bytes)) return base::fail(ErrorKind::kInvalid, "a string must be UTF-8");
  return Literal(std::string(bytes));
}

base::Result<Literal> decode_uuid(std::string_view bytes, const model::Type& type) {
  base::Uuid uuid{};
  if (bytes.size() != uuid.size()) return wrong_length(type, bytes.size());
  std::memcpy(uuid.data(), bytes.data(), uuid.size());
  return Literal(uuid);
}

base::Result<Literal> decode_decimal(std::string_view bytes, const model::Type& type) {
  if (bytes.empty() || bytes.size() > kMaxDecimalBytes) return wrong_length(type, bytes.size());
  __int128 value = static_cast<signed char>(bytes.front()) < 0 ? -1 : 0;
  for (char byte : bytes) value = (value << 8) | static_cast<unsigned char>(byte);
  __int128 limit = 1;
  for (int i = 0; i < type.precision(); ++i) limit *= 10;
  if (value >= limit || value <= -limit) {
    return base::fail(ErrorKind::kInvalid,
                      fmt::format("a value is too large for {}", type.to_string()));
  }
  return Literal(model::Decimal{value});
}

base::Result<Literal> decode_fixed(std::string_view bytes, const model::Type& type) {
  if (bytes.size() != static_cast<std::size_t>(type.length())) {
    return wrong_length(type, bytes.size());
  }
  return Literal(model::Bytes{std::string(bytes)});
}

}  // namespace

std::string encode_single_value(const Literal& value) { return std::visit(Encode{}, value); }

base::Result<Literal> decode_single_value(std::string_view bytes, const model::Type& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean: return decode_boolean(bytes, type);
    case TypeKind::kInt:
    case TypeKind::kDate: return decode_int(bytes, type);
    case TypeKind::kLong:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: return decode_long(bytes, type);
    case TypeKind::kFloat: return decode_float(bytes, type);
    case TypeKind::kDouble: return decode_double(bytes, type);
    case TypeKind::kString: return decode_string(bytes);
    case TypeKind::kUuid: return decode_uuid(bytes, type);
    case TypeKind::kDecimal: return decode_decimal(bytes, type);
    case TypeKind::kFixed: return decode_fixed(bytes, type);
    case TypeKind::kBinary: return Literal(model::Bytes{std::string(bytes)});
    default: break;
  }
  return base::fail(ErrorKind::kUnsupported,
                    fmt::format("type {} has no single value", type.to_string()));
}

bool has_alternative_of(const Literal& value, const model::Type& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean: return std::holds_alternative<bool>(value);
    case TypeKind::kInt:
    case TypeKind::kDate: return std::holds_alternative<std::int32_t>(value);
    case TypeKind::kLong:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: return std::holds_alternative<std::int64_t>(value);
    case TypeKind::kFloat: return std::holds_alternative<float>(value);
    case TypeKind::kDouble: return std::holds_alternative<double>(value);
    case TypeKind::kString: return std::holds_alternative<std::string>(value);
    case TypeKind::kUuid: return std::holds_alternative<base::Uuid>(value);
    case TypeKind::kDecimal: return std::holds_alternative<model::Decimal>(value);
    case TypeKind::kFixed:
    case TypeKind::kBinary: return std::holds_alternative<model::Bytes>(value);
    default: return false;
  }
}

}  // namespace lake::materialize

#include "lakeproxy/iceberg/schema/literal_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/core/text.h"
#include "lakeproxy/iceberg/schema/literal_text.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Value;

constexpr std::string_view kUtcOffset = "+00:00";
constexpr std::string_view kNan = "NaN";
constexpr std::string_view kInfinity = "Infinity";
constexpr std::string_view kMinusInfinity = "-Infinity";

std::int64_t ticks_of(TypeKind kind) {
  const bool nanos = kind == TypeKind::kTimestampNs || kind == TypeKind::kTimestamptzNs;
  return nanos ? kNanosPerSecond : kMicrosPerSecond;
}

bool has_zone(TypeKind kind) {
  return kind == TypeKind::kTimestamptz || kind == TypeKind::kTimestamptzNs;
}

std::string upper_hex(const std::string& bytes) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

/// JSON has no numbers for these; the reference implementation quotes them.
Value floating_to_json(double value) {
  if (std::isnan(value)) return Value(kNan);
  if (std::isinf(value)) return Value(value > 0 ? kInfinity : kMinusInfinity);
  return Value(value);
}

/// The double with the same shortest decimal digits, so that 1.1f is written
/// 1.1 and not 1.100000023841858.
Value float_to_json(float value) {
  if (!std::isfinite(value)) return floating_to_json(value);
  const std::string text = fmt::format("{}", value);
  double nearest = value;
  std::from_chars(text.data(), text.data() + text.size(), nearest);
  return Value(nearest);
}

struct Writer {
  const Type& type;

  Value operator()(bool value) const { return Value(value); }
  Value operator()(std::int32_t value) const {
    if (type.kind() == TypeKind::kDate) return Value(format_date(value));
    return Value(value);
  }
  Value operator()(std::int64_t value) const {
    const TypeKind kind = type.kind();
    if (kind == TypeKind::kTime) return Value(format_time(value));
    if (kind == TypeKind::kLong) return Value(value);
    std::string text = format_timestamp(value, ticks_of(kind));
    if (has_zone(kind)) text += kUtcOffset;
    return Value(text);
  }
  Value operator()(float value) const { return float_to_json(value); }
  Value operator()(double value) const { return floating_to_json(value); }
  Value operator()(const std::string& value) const { return Value(value); }
  Value operator()(const base::Uuid& value) const { return Value(base::to_string(value)); }
  Value operator()(const Bytes& value) const { return Value(upper_hex(value.value)); }
  Value operator()(const Decimal& value) const {
    return Value(format_decimal(value, type.scale()));
  }
};

std::optional<std::int64_t> integer_of(const Value& value) {
  if (const auto* number = value.if_int64()) return *number;
  return std::nullopt;
}

std::optional<double> floating_of(const Value& value) {
  if (const auto* number = value.if_double()) return *number;
  if (const auto* number = value.if_int64()) return static_cast<double>(*number);
  if (const auto* number = value.if_uint64()) return static_cast<double>(*number);
  const auto* text = value.if_string();
  if (text == nullptr) return std::nullopt;
  if (*text == kNan) return std::numeric_limits<double>::quiet_NaN();
  if (*text == kInfinity) return std::numeric_limits<double>::infinity();
  if (*text == kMinusInfinity) return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<Literal> read_int(const Value& value) {
  const auto number = integer_of(value);
  if (!number || *number < INT32_MIN || *number > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

std::optional<Literal> read_float(const Value& value) {
  const auto number = floating_of(value);
  if (!number) return std::nullopt;
  const auto narrow = static_cast<float>(*number);
  // A finite number that only a double can hold is not a float.
  if (std::isinf(narrow) && !std::isinf(*number)) return std::nullopt;
  return narrow;
}

std::optional<Literal> read_timestamp(std::string_view text, TypeKind kind) {
  if (has_zone(kind)) {
    if (text.ends_with(kUtcOffset)) {
      text.remove_suffix(kUtcOffset.size());
    } else if (text.ends_with('Z')) {
      text.remove_suffix(1);
    } else {
      return std::nullopt;
    }
  }
  return parse_timestamp(text, ticks_of(kind));
}

std::optional<Literal> read_bytes(std::string_view text, const Type& type) {
  auto bytes = base::from_hex(text);
  if (!bytes) return std::nullopt;
  if (type.kind() == TypeKind::kFixed && bytes->size() != static_cast<std::size_t>(type.length())) {
    return std::nullopt;
  }
  return Bytes{std::move(*bytes)};
}

/// The types whose value is a JSON string.
std::optional<Literal> read_text(std::string_view text, const Type& type) {
  switch (type.kind()) {
    case TypeKind::kString: return std::string(text);
    case TypeKind::kUuid: return base::parse_uuid(text);
    case TypeKind::kDate: return parse_date(text);
    case TypeKind::kTime: return parse_time(text);
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: return read_timestamp(text, type.kind());
    case TypeKind::kFixed:
    case TypeKind::kBinary: return read_bytes(text, type);
    case TypeKind::kDecimal: return parse_decimal(text, type.precision(), type.scale());
    default: return std::nullopt;
  }
}

std::optional<Literal> read(const Value& value, const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean:
      if (const auto* flag = value.if_bool()) return *flag;
      return std::nullopt;
    case TypeKind::kInt: return read_int(value);
    case TypeKind::kLong: return integer_of(value);
    case TypeKind::kFloat: return read_float(value);
    case TypeKind::kDouble: return floating_of(value);
    default: break;
  }
  const auto* text = value.if_string();
  return text == nullptr ? std::nullopt : read_text({text->data(), text->size()}, type);
}

}  // namespace

Value to_json(const Literal& literal, const Type& type) {
  return std::visit(Writer{type}, literal);
}

base::Result<Literal> literal_from_json(const Value& value, const Type& type, std::string path) {
  auto literal = read(value, type);
  if (!literal) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: must be a {} value", path, type.to_string()));
  }
  return std::move(*literal);
}

}  // namespace lake::model

#include "lakeproxy/iceberg/scan/filter_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lakeproxy/iceberg/schema/literal_json.h"
#include "lakeproxy/iceberg/schema/literal_text.h"

namespace lake::scan {
namespace {

using base::json::Value;
using model::Literal;
using model::TypeKind;

using Placed = std::optional<PlacedValue>;

constexpr std::int64_t kNanosPerMicro = 1000;
constexpr std::int64_t kMicrosPerMinute = 60 * model::kMicrosPerSecond;

Placed inside(Literal value) { return PlacedValue{Place::kInside, std::move(value)}; }
Placed outside(bool above) {
  return PlacedValue{above ? Place::kAbove : Place::kBelow, std::nullopt};
}

template <class T>
Placed narrow(__int128 value) {
  if (value > std::numeric_limits<T>::max()) return outside(true);
  if (value < std::numeric_limits<T>::min()) return outside(false);
  return inside(static_cast<T>(value));
}

std::optional<__int128> integer_of(const Value& json) {
  if (const auto* value = json.if_int64()) return *value;
  if (const auto* value = json.if_uint64()) return *value;
  return std::nullopt;
}

bool is_nanos(TypeKind kind) {
  return kind == TypeKind::kTimestampNs || kind == TypeKind::kTimestamptzNs;
}

bool has_zone(TypeKind kind) {
  return kind == TypeKind::kTimestamptz || kind == TypeKind::kTimestamptzNs;
}

// Days, microseconds, or the number itself.
Placed from_integer(__int128 value, const model::Type& type) {
  switch (type.kind()) {
    case TypeKind::kInt:
    case TypeKind::kDate: return narrow<std::int32_t>(value);
    case TypeKind::kLong:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz: return narrow<std::int64_t>(value);
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs: return narrow<std::int64_t>(value * kNanosPerMicro);
    default: return std::nullopt;
  }
}

// "-12.50" without the zeros that a value of `scale` digits does not have.
Placed from_decimal(std::string text, const model::Type& type) {
  const auto scale = static_cast<std::size_t>(type.scale());
  std::size_t point = text.find('.');
  if (point == std::string::npos) {
    point = text.size();
    text += '.';
  }
  while (text.size() > point + 1 + scale && text.ends_with('0')) text.pop_back();
  if (text.size() < point + 1 + scale) text.append(point + 1 + scale - text.size(), '0');
  if (scale == 0 && text.ends_with('.')) text.pop_back();
  if (auto value = model::parse_decimal(text, type.precision(), type.scale())) {
    return inside(*value);
  }
  // 38 digits are the most that any decimal has.
  constexpr int kMostDigits = 38;
  if (!model::parse_decimal(text, kMostDigits, type.scale())) return std::nullopt;
  return outside(!text.starts_with('-'));
}

Placed from_decimal(const Value& json, const model::Type& type) {
  if (auto value = integer_of(json)) {
    const bool is_wide = *value > std::numeric_limits<std::int64_t>::max();
    return from_decimal(is_wide ? std::to_string(json.get_uint64())
                                : std::to_string(static_cast<std::int64_t>(*value)),
                        type);
  }
  if (const auto* value = json.if_double()) return from_decimal(fmt::format("{}", *value), type);
  const auto* text = json.if_string();
  if (text == nullptr) return std::nullopt;
  return from_decimal(std::string(*text), type);
}

// The minutes of "+02:00", which ends the text and is cut off it. Clients that know a moment send
// it without one in UTC. Nothing: a wrong one.
std::optional<std::int64_t> take_offset(std::string& text) {
  if (text.ends_with('Z')) {
    text.pop_back();
    return 0;
  }
  constexpr std::size_t kLength = 6;
  const std::size_t begin = text.size() - std::min(text.size(), kLength);
  const std::string offset = text.substr(begin);
  const bool has_offset = offset.size() == kLength && (offset[0] == '+' || offset[0] == '-');
  if (!has_offset || text.find('T') > begin) return 0;
  auto digits = [&](std::size_t at) -> int {
    const char a = offset[at];
    const char b = offset[at + 1];
    if (a < '0' || a > '9' || b < '0' || b > '9') return -1;
    return (a - '0') * 10 + (b - '0');
  };
  const int hours = digits(1);
  const int minutes = digits(4);
  constexpr int kMostHours = 18;
  constexpr int kMostMinutes = 59;
  if (offset[3] != ':' || hours < 0 || minutes < 0 || hours > kMostHours ||
      minutes > kMostMinutes) {
    return std::nullopt;
  }
  text.resize(begin);
  return (offset[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
}

Placed from_timestamp(std::string text, TypeKind kind) {
  std::int64_t minutes = 0;
  if (has_zone(kind)) {
    auto offset = take_offset(text);
    if (!offset) return std::nullopt;
    minutes = *offset;
  }
  constexpr std::size_t kWithoutSeconds = std::string_view("2017-11-16T22:31").size();
  if (text.size() == kWithoutSeconds) text += ":00";
  const auto per_second = is_nanos(kind) ? model::kNanosPerSecond : model::kMicrosPerSecond;
  auto ticks = model::parse_timestamp(text, per_second);
  if (!ticks) return std::nullopt;
  const auto per_minute = is_nanos(kind) ? kMicrosPerMinute * kNanosPerMicro : kMicrosPerMinute;
  return narrow<std::int64_t>(static_cast<__int128>(*ticks) -
                              static_cast<__int128>(minutes) * per_minute);
}

Placed from_floating(const Value& json, TypeKind kind) {
  // Read as a double first: a float that is too large is beyond all values, not wrong.
  auto read = model::literal_from_json(json, model::Type(TypeKind::kDouble), "");
  if (!read) return std::nullopt;
  const double value = std::get<double>(*read);
  if (std::isnan(value)) return std::nullopt;
  if (kind == TypeKind::kDouble) return inside(value);
  const auto narrowed = static_cast<float>(value);
  if (std::isinf(narrowed) && !std::isinf(value)) return outside(value > 0);
  return inside(narrowed);
}

}  // namespace

Placed value_from_json(const Value& json, const model::Type& type) {
  const TypeKind kind = type.kind();
  if (kind == TypeKind::kFloat || kind == TypeKind::kDouble) return from_floating(json, kind);
  if (kind == TypeKind::kDecimal) return from_decimal(json, type);
  if (auto value = integer_of(json)) return from_integer(*value, type);
  const auto* text = json.if_string();
  if (text != nullptr && (has_zone(kind) || kind == TypeKind::kTimestamp || is_nanos(kind))) {
    return from_timestamp(std::string(*text), kind);
  }
  auto value = model::literal_from_json(json, type, "");
  if (!value) return std::nullopt;
  return inside(std::move(*value));
}

}  // namespace lake::scan

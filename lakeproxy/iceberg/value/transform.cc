#include "lakeproxy/iceberg/value/transform.h"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::Result;
using model::Literal;
using model::Transform;
using model::TransformKind;
using model::Type;
using model::TypeKind;

constexpr std::int64_t kMicrosPerHour = 3'600'000'000;
constexpr std::int64_t kMicrosPerDay = 24 * kMicrosPerHour;
constexpr std::int64_t kNanosPerMicro = 1000;

std::int64_t floor_div(std::int64_t value, std::int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

std::uint32_t mix_block(std::uint32_t block) {
  block *= 0xCC9E2D51U;
  block = std::rotl(block, 15);
  return block * 0x1B873593U;
}

// Source: MurmurHash3_x86_32, seed 0.
std::int32_t murmur3(std::string_view bytes) {
  auto at = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
  };
  std::uint32_t hash = 0;
  std::size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    hash ^= mix_block(at(i) | at(i + 1) << 8 | at(i + 2) << 16 | at(i + 3) << 24);
    hash = std::rotl(hash, 13) * 5 + 0xE6546B64U;
  }
  std::uint32_t tail = 0;
  for (std::size_t j = bytes.size(); j > i; --j) tail = tail << 8 | at(j - 1);
  if (i < bytes.size()) hash ^= mix_block(tail);
  hash ^= static_cast<std::uint32_t>(bytes.size());
  hash = (hash ^ (hash >> 16)) * 0x85EBCA6BU;
  hash = (hash ^ (hash >> 13)) * 0xC2B2AE35U;
  return static_cast<std::int32_t>(hash ^ (hash >> 16));
}

base::Error wrong_type(const Transform& transform, const Type& source) {
  return base::fail(ErrorKind::kInvalid, fmt::format("transform {} does not take {}",
                                                     to_string(transform), source.to_string()));
}

base::Error wrong_value(const Type& source) {
  return base::fail(ErrorKind::kInvalid,
                    fmt::format("the value is not one of type {}", source.to_string()));
}

bool is_timestamp(TypeKind kind) {
  return kind == TypeKind::kTimestamp || kind == TypeKind::kTimestamptz ||
         kind == TypeKind::kTimestampNs || kind == TypeKind::kTimestamptzNs;
}

bool is_nanos(TypeKind kind) {
  return kind == TypeKind::kTimestampNs || kind == TypeKind::kTimestamptzNs;
}

bool has_single_value(TypeKind kind) {
  return kind <= TypeKind::kTimestamptzNs;  // unknown, variant, geo and nested follow
}

bool can_truncate(TypeKind kind) {
  return kind == TypeKind::kInt || kind == TypeKind::kLong || kind == TypeKind::kDecimal ||
         kind == TypeKind::kString || kind == TypeKind::kBinary;
}

bool can_bucket(TypeKind kind) {
  return has_single_value(kind) && kind != TypeKind::kBoolean && kind != TypeKind::kFloat &&
         kind != TypeKind::kDouble;
}

bool takes(const Transform& transform, TypeKind source) {
  switch (transform.kind) {
    case TransformKind::kIdentity: return has_single_value(source);
    case TransformKind::kBucket: return transform.parameter > 0 && can_bucket(source);
    case TransformKind::kTruncate: return transform.parameter > 0 && can_truncate(source);
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay: return source == TypeKind::kDate || is_timestamp(source);
    case TransformKind::kHour: return is_timestamp(source);
    case TransformKind::kVoid: return true;
    case TransformKind::kUnknown: break;
  }
  return false;
}

std::int64_t micros_of(const Literal& timestamp, TypeKind source) {
  const std::int64_t count = std::get<std::int64_t>(timestamp);
  return is_nanos(source) ? floor_div(count, kNanosPerMicro) : count;
}

std::int64_t days_of(const Literal& value, TypeKind source) {
  if (source == TypeKind::kDate) return std::get<std::int32_t>(value);
  return floor_div(micros_of(value, source), kMicrosPerDay);
}

struct YearMonth {
  std::int64_t year;
  std::int64_t month;  ///< 0 to 11.
};

// The proleptic Gregorian calendar in eras of 400 years that begin in March,
// which puts the leap day last. std::chrono stops at the year 32767.
YearMonth year_month_of(std::int64_t days) {
  constexpr std::int64_t kDaysPerEra = 146097;
  constexpr std::int64_t kEpochFromMarch0000 = 719468;
  const std::int64_t shifted = days + kEpochFromMarch0000;
  const std::int64_t era = floor_div(shifted, kDaysPerEra);
  const std::int64_t day = shifted - era * kDaysPerEra;
  const std::int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  const std::int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
  const std::int64_t march_month = (5 * day_of_year + 2) / 153;
  const bool is_next_year = march_month >= 10;
  return {.year = year + era * 400 + (is_next_year ? 1 : 0),
          .month = is_next_year ? march_month - 10 : march_month + 2};
}

Result<std::optional<Literal>> time_part(TransformKind kind, const Literal& value,
                                         TypeKind source) {
  const std::int64_t days = days_of(value, source);
  const YearMonth month = year_month_of(days);
  std::int64_t part = 0;
  switch (kind) {
    case TransformKind::kYear: part = month.year - 1970; break;
    case TransformKind::kMonth: part = (month.year - 1970) * 12 + month.month; break;
    case TransformKind::kDay: part = days; break;
    default: part = floor_div(micros_of(value, source), kMicrosPerHour); break;
  }
  if (part < std::numeric_limits<std::int32_t>::min() ||
      part > std::numeric_limits<std::int32_t>::max()) {
    return base::fail(ErrorKind::kInvalid, "the timestamp is too far away for its transform");
  }
  return std::optional<Literal>(static_cast<std::int32_t>(part));
}

std::string first_code_points(const std::string& text, std::int32_t width) {
  std::size_t end = 0;
  for (std::int32_t seen = 0; end < text.size(); ++end) {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (starts && seen++ == width) break;
  }
  return text.substr(0, end);
}

// Rounds down to a multiple of `width`, below zero too.
template <class T>
Result<std::optional<Literal>> truncate_number(T value, std::int32_t width) {
  const __int128 wide = value;
  const __int128 down = wide - ((wide % width) + width) % width;
  if (down < std::numeric_limits<T>::min()) {
    return base::fail(ErrorKind::kInvalid, "the truncated value is out of its type's range");
  }
  return std::optional<Literal>(static_cast<T>(down));
}

Result<std::optional<Literal>> truncate(const Literal& value, std::int32_t width) {
  if (const auto* v = std::get_if<std::int32_t>(&value)) return truncate_number(*v, width);
  if (const auto* v = std::get_if<std::int64_t>(&value)) return truncate_number(*v, width);
  if (const auto* v = std::get_if<model::Decimal>(&value)) {
    const __int128 rest = ((v->unscaled % width) + width) % width;
    return std::optional<Literal>(model::Decimal{v->unscaled - rest});
  }
  if (const auto* v = std::get_if<std::string>(&value)) {
    return std::optional<Literal>(first_code_points(*v, width));
  }
  const auto& bytes = std::get<model::Bytes>(value).value;
  return std::optional<Literal>(model::Bytes{bytes.substr(0, static_cast<std::size_t>(width))});
}

}  // namespace

Result<Type> transform_result_type(const Transform& transform, const Type& source) {
  if (transform.kind == TransformKind::kUnknown) {
    return base::fail(ErrorKind::kUnsupported,
                      fmt::format("unknown transform {}", to_string(transform)));
  }
  if (!takes(transform, source.kind())) return wrong_type(transform, source);
  switch (transform.kind) {
    case TransformKind::kBucket:
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kHour: return Type(TypeKind::kInt);
    case TransformKind::kDay: return Type(TypeKind::kDate);
    default: return source;
  }
}

Result<std::optional<Literal>> apply_transform(const Transform& transform, const Type& source,
                                               const std::optional<Literal>& value) {
  RETURN_IF_ERROR(transform_result_type(transform, source));
  if (!value || transform.kind == TransformKind::kVoid) return std::optional<Literal>();
  if (!has_alternative_of(*value, source)) return wrong_value(source);
  switch (transform.kind) {
    case TransformKind::kIdentity: return value;
    case TransformKind::kTruncate: return truncate(*value, transform.parameter);
    case TransformKind::kBucket: break;
    default: return time_part(transform.kind, *value, source.kind());
  }
  ASSIGN_OR_RETURN(const std::int32_t hash, bucket_hash(*value, source));
  const std::int32_t positive = hash & std::numeric_limits<std::int32_t>::max();
  return std::optional<Literal>(positive % transform.parameter);
}

Result<std::int32_t> bucket_hash(const Literal& value, const Type& type) {
  if (!can_bucket(type.kind()) || !has_alternative_of(value, type)) return wrong_value(type);
  // Equal numbers hash alike whatever their width: all are taken as longs.
  if (const auto* narrow = std::get_if<std::int32_t>(&value)) {
    return murmur3(encode_single_value(static_cast<std::int64_t>(*narrow)));
  }
  if (is_nanos(type.kind())) return murmur3(encode_single_value(micros_of(value, type.kind())));
  return murmur3(encode_single_value(value));
}

}  // namespace lake::materialize

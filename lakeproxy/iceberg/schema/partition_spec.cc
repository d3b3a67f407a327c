#include "lakeproxy/iceberg/schema/partition_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/core/text.h"

namespace lake::model {
namespace {

constexpr std::array<std::pair<std::string_view, TransformKind>, 6> kPlain{{
    {"identity", TransformKind::kIdentity},
    {"year", TransformKind::kYear},
    {"month", TransformKind::kMonth},
    {"day", TransformKind::kDay},
    {"hour", TransformKind::kHour},
    {"void", TransformKind::kVoid},
}};

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// The number in "name[number]"; nothing for another name or for no positive
/// 32-bit number.
std::optional<std::int32_t> parameter_of(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || !text.ends_with(']')) return std::nullopt;
  text.remove_prefix(name.size());
  if (!text.starts_with('[')) return std::nullopt;
  const auto number = base::parse_int64(text.substr(1, text.size() - 2));
  if (!number || *number < 1 || *number > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

bool is_timestamp(TypeKind kind) {
  return kind == TypeKind::kTimestamp || kind == TypeKind::kTimestamptz ||
         kind == TypeKind::kTimestampNs || kind == TypeKind::kTimestamptzNs;
}

bool can_bucket(TypeKind kind) {
  switch (kind) {
    case TypeKind::kInt:
    case TypeKind::kLong:
    case TypeKind::kDecimal:
    case TypeKind::kDate:
    case TypeKind::kTime:
    case TypeKind::kString:
    case TypeKind::kUuid:
    case TypeKind::kFixed:
    case TypeKind::kBinary: return true;
    default: return is_timestamp(kind);
  }
}

bool can_truncate(TypeKind kind) {
  return kind == TypeKind::kInt || kind == TypeKind::kLong || kind == TypeKind::kDecimal ||
         kind == TypeKind::kString || kind == TypeKind::kBinary;
}

bool is_widened(const Type& from, const Type& to) {
  if (from.kind() == TypeKind::kInt) return to.kind() == TypeKind::kLong;
  if (from.kind() == TypeKind::kFloat) return to.kind() == TypeKind::kDouble;
  return from.kind() == TypeKind::kDecimal && to.kind() == TypeKind::kDecimal &&
         from.scale() == to.scale() && from.precision() <= to.precision();
}

// A day of these is the same day as another.
bool has_local_date(TypeKind kind) {
  return kind == TypeKind::kDate || kind == TypeKind::kTimestamp || kind == TypeKind::kTimestampNs;
}

}  // namespace

std::string to_string(const Transform& transform) {
  switch (transform.kind) {
    case TransformKind::kIdentity: return "identity";
    case TransformKind::kBucket: return fmt::format("bucket[{}]", transform.parameter);
    case TransformKind::kTruncate: return fmt::format("truncate[{}]", transform.parameter);
    case TransformKind::kYear: return "year";
    case TransformKind::kMonth: return "month";
    case TransformKind::kDay: return "day";
    case TransformKind::kHour: return "hour";
    case TransformKind::kVoid: return "void";
    case TransformKind::kUnknown: return transform.text;
  }
  std::unreachable();
}

Transform parse_transform(std::string_view text) {
  const std::string name = lower_case(text);
  for (const auto& [plain, kind] : kPlain) {
    if (plain == name) return Transform{.kind = kind, .parameter = 0, .text = ""};
  }
  if (const auto buckets = parameter_of(name, "bucket")) {
    return Transform{.kind = TransformKind::kBucket, .parameter = *buckets, .text = ""};
  }
  if (const auto width = parameter_of(name, "truncate")) {
    return Transform{.kind = TransformKind::kTruncate, .parameter = *width, .text = ""};
  }
  return Transform{.kind = TransformKind::kUnknown, .parameter = 0, .text = std::string(text)};
}

bool can_transform(const Transform& transform, const Type& source) {
  const TypeKind kind = source.kind();
  switch (transform.kind) {
    case TransformKind::kIdentity:
      return source.is_primitive() && kind != TypeKind::kVariant && kind != TypeKind::kGeometry &&
             kind != TypeKind::kGeography;
    case TransformKind::kBucket: return can_bucket(kind);
    case TransformKind::kTruncate: return can_truncate(kind);
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay: return kind == TypeKind::kDate || is_timestamp(kind);
    case TransformKind::kHour: return is_timestamp(kind);
    case TransformKind::kVoid: return true;
    case TransformKind::kUnknown: return false;
  }
  std::unreachable();
}

bool keeps_values(const Transform& transform, const Type& from, const Type& to) {
  if (from == to) return true;
  switch (transform.kind) {
    case TransformKind::kIdentity:
    case TransformKind::kBucket:
    case TransformKind::kTruncate: return is_widened(from, to);
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay: return has_local_date(from.kind()) && has_local_date(to.kind());
    case TransformKind::kVoid: return true;
    case TransformKind::kHour:
    case TransformKind::kUnknown: return false;
  }
  std::unreachable();
}

Type result_type(const Transform& transform, const Type& source) {
  switch (transform.kind) {
    case TransformKind::kIdentity:
    case TransformKind::kTruncate:
    case TransformKind::kVoid: return source;
    case TransformKind::kBucket:
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kHour: return Type(TypeKind::kInt);
    case TransformKind::kDay: return Type(TypeKind::kDate);
    case TransformKind::kUnknown: return Type(TypeKind::kString);
  }
  std::unreachable();
}

bool PartitionSpec::compatible_with(const PartitionSpec& other) const {
  return std::ranges::equal(
      fields, other.fields, [](const PartitionField& a, const PartitionField& b) {
        return a.source_id == b.source_id && a.name == b.name && a.transform == b.transform;
      });
}

}  // namespace lake::model

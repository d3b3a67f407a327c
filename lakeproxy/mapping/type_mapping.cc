#include "lakeproxy/mapping/type_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::fail;
using model::Type;
using model::TypeKind;

struct Shown {
  std::string_view lake_type;
  TypeKind kind;
  std::int32_t format_version;
};

// int8 and int16 stand in the files as 32-bit integers that hold each value.
// timestamp_s stands there in microseconds.
constexpr std::array kShown{
    Shown{"boolean", TypeKind::kBoolean, 2},
    Shown{"int8", TypeKind::kInt, 2},
    Shown{"int16", TypeKind::kInt, 2},
    Shown{"int32", TypeKind::kInt, 2},
    Shown{"int64", TypeKind::kLong, 2},
    Shown{"float32", TypeKind::kFloat, 2},
    Shown{"float64", TypeKind::kDouble, 2},
    Shown{"date", TypeKind::kDate, 2},
    Shown{"time", TypeKind::kTime, 2},
    Shown{"timestamp", TypeKind::kTimestamp, 2},
    Shown{"timestamp_us", TypeKind::kTimestamp, 2},
    Shown{"timestamp_s", TypeKind::kTimestamp, 2},
    Shown{"timestamptz", TypeKind::kTimestamptz, 2},
    Shown{"varchar", TypeKind::kString, 2},
    Shown{"json", TypeKind::kString, 2},
    Shown{"blob", TypeKind::kBinary, 2},
    Shown{"uuid", TypeKind::kUuid, 2},
    Shown{"timestamp_ns", TypeKind::kTimestampNs, 3},
    Shown{"timestamptz_ns", TypeKind::kTimestamptzNs, 3},
    Shown{"variant", TypeKind::kVariant, 3},
    Shown{"geometry", TypeKind::kGeometry, 3},
};

struct Refused {
  std::string_view lake_type;
  std::string_view reason;
};

constexpr std::array kRefused{
    Refused{"uint8", "Iceberg's Java readers cannot read unsigned integers"},
    Refused{"uint16", "Iceberg's Java readers cannot read unsigned integers"},
    Refused{"uint32", "its files hold unsigned values that Iceberg readers take for signed ones"},
    Refused{"uint64", "its files hold unsigned values that Iceberg readers take for signed ones"},
    Refused{"int128", "its files hold rounded values"},
    Refused{"uint128", "its files hold rounded values"},
    Refused{"timestamp_ms", "its files count milliseconds where Iceberg counts microseconds"},
    Refused{"time_ns", "Iceberg's time has microseconds"},
    Refused{"timetz", "Iceberg has no time with a zone"},
    Refused{"interval", "Iceberg has no interval"},
};

base::Error unsupported(std::string_view type, std::string_view reason) {
  return fail(ErrorKind::kUnsupported,
              fmt::format("type {} cannot be shown as an Iceberg type: {}", type, reason));
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

Type make_primitive(TypeKind kind) {
  return kind == TypeKind::kGeometry ? Type::geo(kind, "") : Type(kind);
}

}  // namespace

LakeTypeShape shape_of(std::string_view lake_type) {
  const std::string name = lower_case(lake_type);
  if (name == "struct") return LakeTypeShape::kStruct;
  if (name == "list") return LakeTypeShape::kList;
  if (name == "map") return LakeTypeShape::kMap;
  return LakeTypeShape::kPrimitive;
}

base::Result<Type> iceberg_type(std::string_view lake_type, std::int32_t format_version) {
  const std::string name = lower_case(lake_type);
  if (name.starts_with("decimal(")) {
    auto parsed = model::parse_primitive_type(name);
    if (!parsed) return unsupported(lake_type, "not a decimal of 1 to 38 digits");
    return std::move(*parsed);
  }
  const auto* shown = std::ranges::find(kShown, std::string_view(name), &Shown::lake_type);
  if (shown != kShown.end()) {
    if (shown->format_version > format_version) {
      return unsupported(lake_type, "it needs format version 3, and the table has 2");
    }
    return make_primitive(shown->kind);
  }
  const auto* refused = std::ranges::find(kRefused, std::string_view(name), &Refused::lake_type);
  if (refused != kRefused.end()) return unsupported(lake_type, refused->reason);
  return unsupported(lake_type, "there is none for it");
}

base::Result<std::string> lake_type(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean: return "boolean";
    case TypeKind::kInt: return "int32";
    case TypeKind::kLong: return "int64";
    case TypeKind::kFloat: return "float32";
    case TypeKind::kDouble: return "float64";
    case TypeKind::kDecimal: return fmt::format("decimal({},{})", type.precision(), type.scale());
    case TypeKind::kDate: return "date";
    case TypeKind::kTime: return "time";
    case TypeKind::kTimestamp: return "timestamp";
    case TypeKind::kTimestamptz: return "timestamptz";
    case TypeKind::kString: return "varchar";
    case TypeKind::kUuid: return "uuid";
    case TypeKind::kFixed:
    case TypeKind::kBinary: return "blob";
    case TypeKind::kTimestampNs: return "timestamp_ns";
    case TypeKind::kVariant: return "variant";
    case TypeKind::kGeometry:
    case TypeKind::kGeography: return "geometry";
    case TypeKind::kStruct: return "struct";
    case TypeKind::kList: return "list";
    case TypeKind::kMap: return "map";
    case TypeKind::kTimestamptzNs:
    case TypeKind::kUnknown:
      return fail(ErrorKind::kUnsupported,
                  fmt::format("the lake has no type for {}", type.to_string()));
  }
  std::unreachable();
}

base::Result<std::string> lake_column_type(const model::Field& field) {
  auto type = lake_type(field.type);
  if (!type) return std::move(type).error().with_context(fmt::format("column '{}'", field.name));
  return type;
}

bool can_stand_for(const Type& held, const Type& given) {
  if (!held.is_primitive() || !given.is_primitive()) return held.kind() == given.kind();
  if (held.kind() == TypeKind::kBinary) {
    return given.kind() == TypeKind::kFixed || given.kind() == TypeKind::kBinary;
  }
  if (held.kind() == TypeKind::kGeometry) {
    return given.kind() == TypeKind::kGeometry || given.kind() == TypeKind::kGeography;
  }
  return held == given;
}

bool can_promote(const Type& from, const Type& to) {
  if (!from.is_primitive() || !to.is_primitive()) return from.kind() == to.kind();
  if (from == to || can_stand_for(from, to) || can_stand_for(to, from)) return true;
  if (from.kind() == TypeKind::kInt) return to.kind() == TypeKind::kLong;
  if (from.kind() == TypeKind::kFloat) return to.kind() == TypeKind::kDouble;
  if (from.kind() == TypeKind::kDecimal && to.kind() == TypeKind::kDecimal) {
    return from.scale() == to.scale() && from.precision() <= to.precision();
  }
  return false;
}

bool bucket_is_icebergs(std::string_view lake_type) {
  constexpr std::array<std::string_view, 11> kSame{
      "int8",      "int16",        "int32",       "int64",   "date", "time",
      "timestamp", "timestamp_us", "timestamptz", "varchar", "blob"};
  const std::string name = lower_case(lake_type);
  return std::ranges::find(kSame, std::string_view(name)) != kSame.end();
}

}  // namespace lake::ducklake

#include "lakeproxy/mapping/type_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::fail;
using model::Type;
using model::TypeKind;

struct Row {
  std::string_view lake_type;
  std::string_view duckdb;
  TypeKind kind;
  std::int32_t format_version = 2;
  ReadableAs how = ReadableAs::kAsIs;
  std::string_view reason = {};
};

constexpr std::string_view kUnsignedMark = "Java clients refuse files of unsigned integers";
constexpr std::string_view kUnsignedBounds =
    "clients take the bounds in its files for signed numbers, and filters lose rows";

// int8 and int16 stand in the files as 32-bit integers that hold each value,
// timestamp_s in microseconds, int128 and uint128 as doubles (DuckDB itself reads
// them back rounded), timetz in UTC without its offset.
constexpr std::array kRows{
    Row{"boolean", "BOOLEAN", TypeKind::kBoolean},
    Row{"int8", "TINYINT", TypeKind::kInt},
    Row{"int16", "SMALLINT", TypeKind::kInt},
    Row{"int32", "INTEGER", TypeKind::kInt},
    Row{"int64", "BIGINT", TypeKind::kLong},
    Row{"int128", "HUGEINT", TypeKind::kDouble, 2, ReadableAs::kAsIs,
        "rounded to 15 to 17 digits, as in the files of DuckDB, which reads them back so"},
    Row{"uint8", "UTINYINT", TypeKind::kInt, 2, ReadableAs::kFooterCopy, kUnsignedMark},
    Row{"uint16", "USMALLINT", TypeKind::kInt, 2, ReadableAs::kFooterCopy, kUnsignedMark},
    Row{"uint32", "UINTEGER", TypeKind::kLong, 2, ReadableAs::kValueCopy, kUnsignedBounds},
    Row{"uint64", "UBIGINT", TypeKind::kDecimal, 2, ReadableAs::kValueCopy, kUnsignedBounds},
    Row{"uint128", "UHUGEINT", TypeKind::kDouble, 2, ReadableAs::kAsIs, "rounded, as HUGEINT"},
    Row{"float32", "FLOAT", TypeKind::kFloat},
    Row{"float64", "DOUBLE", TypeKind::kDouble},
    Row{"date", "DATE", TypeKind::kDate},
    Row{"time", "TIME", TypeKind::kTime, 2, ReadableAs::kAsIs,
        "Spark knows no time, and refuses the whole table"},
    Row{"timetz", "TIME WITH TIME ZONE", TypeKind::kTime, 2, ReadableAs::kAsIs,
        "in UTC, as DuckDB gives it back; Spark knows no time"},
    Row{"timestamp", "TIMESTAMP", TypeKind::kTimestamp},
    Row{"timestamp_us", "TIMESTAMP", TypeKind::kTimestamp},
    Row{"timestamp_s", "TIMESTAMP_S", TypeKind::kTimestamp},
    Row{"timestamp_ms", "TIMESTAMP_MS", TypeKind::kTimestamp, 2, ReadableAs::kValueCopy,
        "its files count milliseconds, and filters of clients lose rows"},
    Row{"timestamptz", "TIMESTAMP WITH TIME ZONE", TypeKind::kTimestamptz},
    Row{"interval", "INTERVAL", TypeKind::kString, 2, ReadableAs::kValueCopy,
        "Iceberg has no interval"},
    Row{"varchar", "VARCHAR", TypeKind::kString},
    Row{"json", "JSON", TypeKind::kString},
    Row{"blob", "BLOB", TypeKind::kBinary},
    Row{"uuid", "UUID", TypeKind::kUuid},
    Row{"timestamp_ns", "TIMESTAMP_NS", TypeKind::kTimestampNs, 3},
    Row{"timestamptz_ns", "TIMESTAMP_NS WITH TIME ZONE", TypeKind::kTimestamptzNs, 3,
        ReadableAs::kAsIs, "no type of DuckDB 1.5"},
    Row{"variant", "VARIANT", TypeKind::kVariant, 3, ReadableAs::kAsIs,
        "Java clients read it row by row"},
    Row{"geometry", "GEOMETRY", TypeKind::kGeometry, 3},
};

struct Refused {
  std::string_view lake_type;
  std::string_view duckdb;
  std::string_view reason;
};

constexpr std::array kRefused{
    Refused{"time_ns", "TIME_NS", "DuckDB 1.5 cannot write it into files"},
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

// A uint64 has up to 20 digits; no other decimal is fixed by its lake type.
constexpr int kUint64Digits = 20;

Type make_primitive(TypeKind kind) {
  if (kind == TypeKind::kDecimal) return Type::decimal(kUint64Digits, 0);
  return kind == TypeKind::kGeometry ? Type::geo(kind, "") : Type(kind);
}

struct Range {
  std::string_view of;
  double low;
  double beyond;  ///< The first whole number above.
};

constexpr std::array kWholeNumbers{
    Range{"int8", -0x1p7, 0x1p7},       Range{"int16", -0x1p15, 0x1p15}, Range{"uint8", 0, 0x1p8},
    Range{"uint16", 0, 0x1p16},         Range{"uint32", 0, 0x1p32},      Range{"uint64", 0, 0x1p64},
    Range{"int128", -0x1p127, 0x1p127}, Range{"uint128", 0, 0x1p128},
};

// Every end of a range is a double, and rounding moves no number across one that is
// not on it: a decimal below 2^64 may round to it, so decimals are compared as they are.
bool is_within(const Range& range, const model::Literal& value) {
  if (const auto* i = std::get_if<std::int32_t>(&value)) {
    return *i >= range.low && *i < range.beyond;
  }
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    constexpr std::int64_t kLargest = std::int64_t{1} << 53;
    if (*i > kLargest || *i < -kLargest) return range.beyond > 0x1p63;
    return static_cast<double>(*i) >= range.low && static_cast<double>(*i) < range.beyond;
  }
  if (const auto* d = std::get_if<model::Decimal>(&value)) {
    return d->unscaled >= static_cast<__int128>(range.low) && range.beyond >= 0x1p64 &&
           d->unscaled < (static_cast<__int128>(1) << 64);
  }
  const auto* d = std::get_if<double>(&value);
  return d != nullptr && *d >= range.low && *d < range.beyond && std::trunc(*d) == *d;
}

bool is_multiple(const model::Literal& value, std::int64_t of) {
  const auto* micros = std::get_if<std::int64_t>(&value);
  return micros != nullptr && *micros % of == 0;
}

}  // namespace

LakeTypeShape shape_of(std::string_view lake_type) {
  const std::string name = lower_case(lake_type);
  if (name == "struct") return LakeTypeShape::kStruct;
  if (name == "list") return LakeTypeShape::kList;
  if (name == "map") return LakeTypeShape::kMap;
  return LakeTypeShape::kPrimitive;
}

std::vector<LakeType> lake_types() {
  std::vector<LakeType> types;
  for (const Row& row : kRows) types.push_back({row.lake_type, row.duckdb});
  for (const Refused& refused : kRefused) types.push_back({refused.lake_type, refused.duckdb});
  return types;
}

base::Result<ShownType> shown_type(std::string_view lake_type) {
  const std::string name = lower_case(lake_type);
  if (name.starts_with("decimal(")) {
    auto parsed = model::parse_primitive_type(name);
    if (!parsed) return unsupported(lake_type, "not a decimal of 1 to 38 digits");
    return ShownType{.type = std::move(*parsed)};
  }
  const auto* row = std::ranges::find(kRows, std::string_view(name), &Row::lake_type);
  if (row != kRows.end()) {
    return ShownType{make_primitive(row->kind), row->format_version, row->how, row->reason};
  }
  const auto* refused = std::ranges::find(kRefused, std::string_view(name), &Refused::lake_type);
  return unsupported(lake_type,
                     refused != kRefused.end() ? refused->reason : "there is none for it");
}

base::Result<Type> iceberg_type(std::string_view lake_type, ShownIn in) {
  ASSIGN_OR_RETURN(ShownType shown, shown_type(lake_type));
  if (shown.how != ReadableAs::kAsIs && in.copies == ReadableCopies::kOff) {
    return unsupported(lake_type, shown.reason);
  }
  if (shown.format_version > in.format_version) {
    return unsupported(lake_type, "it needs format version 3, and the table has 2");
  }
  return std::move(shown.type);
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

bool arranges_alike(std::string_view lake_type) {
  // Texts that differ by less than a double tells are one value; a time's order in the lake
  // is not that of the day in UTC; "1 month" and "P1M" are two orders.
  constexpr std::array<std::string_view, 4> kOther{"int128", "uint128", "timetz", "interval"};
  return std::ranges::find(kOther, std::string_view(lower_case(lake_type))) == kOther.end();
}

bool can_hold(std::string_view lake_type, const model::Literal& value) {
  const std::string name = lower_case(lake_type);
  if (const auto* range = std::ranges::find(kWholeNumbers, std::string_view(name), &Range::of);
      range != kWholeNumbers.end()) {
    return is_within(*range, value);
  }
  if (name == "timestamp_s") return is_multiple(value, 1'000'000);
  if (name == "timestamp_ms") return is_multiple(value, 1'000);
  return name != "interval";
}

bool holds_every_value(std::string_view lake_type) {
  const std::string name = lower_case(lake_type);
  return name == "timetz" || name == "timestamp_us" || name == "json";
}

bool bucket_is_icebergs(std::string_view lake_type) {
  constexpr std::array<std::string_view, 11> kSame{
      "int8",      "int16",        "int32",       "int64",   "date", "time",
      "timestamp", "timestamp_us", "timestamptz", "varchar", "blob"};
  const std::string name = lower_case(lake_type);
  return std::ranges::find(kSame, std::string_view(name)) != kSame.end();
}

}  // namespace lake::ducklake

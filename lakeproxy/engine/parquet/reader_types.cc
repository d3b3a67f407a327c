#include "lakeproxy/engine/parquet/reader_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace lake::exporter {
namespace {

using model::Type;
using model::TypeKind;

std::vector<std::string_view> engine_types(TypeKind kind) {
  switch (kind) {
    case TypeKind::kBoolean: return {"BOOLEAN"};
    case TypeKind::kInt: return {"INTEGER", "SMALLINT", "TINYINT"};
    case TypeKind::kLong: return {"BIGINT", "INTEGER", "SMALLINT", "TINYINT"};
    case TypeKind::kFloat: return {"FLOAT"};
    case TypeKind::kDouble: return {"DOUBLE", "FLOAT"};
    case TypeKind::kDate: return {"DATE"};
    // With a zone it stands in the file in UTC, as DuckDB writes it.
    case TypeKind::kTime: return {"TIME", "TIME WITH TIME ZONE"};
    case TypeKind::kTimestamp: return {"TIMESTAMP"};
    case TypeKind::kTimestamptz: return {"TIMESTAMP WITH TIME ZONE"};
    case TypeKind::kTimestampNs: return {"TIMESTAMP_NS"};
    case TypeKind::kString: return {"VARCHAR", "JSON"};
    case TypeKind::kUuid: return {"UUID"};
    case TypeKind::kBinary: return {"BLOB"};
    default: return {};
  }
}

// The unit that a column of time must say; a file of an older format says none.
std::string_view unit_of(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz: return "MICROS=MicroSeconds";
    case TypeKind::kTimestampNs: return "NANOS=NanoSeconds";
    default: return "";
  }
}

}  // namespace

bool is_narrower_decimal(const ParquetNode& leaf, const Type& type) {
  constexpr std::string_view kBegin = "DECIMAL(";
  std::string text = leaf.engine_type;
  std::erase(text, ' ');
  if (type.kind() != TypeKind::kDecimal || !text.starts_with(kBegin)) return false;
  int precision = 0;
  auto [rest, error] =
      std::from_chars(text.data() + kBegin.size(), text.data() + text.size(), precision);
  return error == std::errc{} && precision <= type.precision() &&
         std::string_view(rest) == fmt::format(",{})", type.scale());
}

bool is_read_alike(const ParquetNode& leaf, const Type& type) {
  if (type.kind() == TypeKind::kDecimal) return is_narrower_decimal(leaf, type);
  const auto known = engine_types(type.kind());
  return std::ranges::find(known, leaf.engine_type) != known.end() &&
         leaf.logical_type.find(unit_of(type.kind())) != std::string::npos;
}

}  // namespace lake::exporter

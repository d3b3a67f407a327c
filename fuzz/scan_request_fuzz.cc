// Any bytes as what a client asks of the planner: no fault, and a filter that fits a table leaves a
// residual for each partition that is read again, and that leaves the same.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/scan/file_filter.h"
#include "lakeproxy/iceberg/scan/scan_request.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace {

using namespace lake;
using model::Field;
using model::Type;
using model::TypeKind;

// Deeper than any filter may be, as the server's bound is.
constexpr base::json::Limits kLimits{.depth = scan::kMostDepth + 10};

model::Schema sample_schema() {
  model::Schema schema;
  schema.fields = {
      Field{.id = 1, .name = "i", .type = Type(TypeKind::kInt)},
      Field{.id = 2, .name = "s", .type = Type(TypeKind::kString)},
      Field{.id = 3, .name = "d", .type = Type(TypeKind::kDouble)},
      Field{.id = 4, .name = "ts", .type = Type(TypeKind::kTimestamptz)},
      Field{.id = 5, .name = "dec", .type = Type::decimal(9, 2)},
      Field{
          .id = 6,
          .name = "p",
          .type = Type::structure({Field{.id = 7, .name = "b", .type = Type(TypeKind::kBinary)}})},
      Field{.id = 8, .name = "l", .type = Type::list(9, Type(TypeKind::kLong), false)},
  };
  return schema;
}

const model::PartitionSpec kSpec{1,
                                 {{1, 1000, "a", model::parse_transform("bucket[4]")},
                                  {2, 1001, "b", model::parse_transform("truncate[2]")},
                                  {4, 1002, "c", model::parse_transform("day")},
                                  {1, 1003, "d", model::parse_transform("identity")}}};

std::optional<scan::Filter> bound(const base::json::Value& json, const scan::Columns& columns) {
  auto read = scan::expression_from_json(json, "filter");
  if (!read) return std::nullopt;
  auto filter = scan::bind(*read, columns, "filter");
  if (!filter) return std::nullopt;
  return std::move(*filter);
}

void check(const scan::Filter& filter, const scan::Columns& columns,
           const model::PartitionTuple& partition) {
  const scan::FileFilter file_filter(filter, kSpec);
  model::DataFile file{.partition = partition, .record_count = 1};
  file.metrics[2] = {.value_count = 1, .null_count = 0, .lower_bound = "a", .upper_bound = "b"};
  file.metrics[3] = {.value_count = 1, .lower_bound = "12345678", .upper_bound = "x"};
  static_cast<void>(file_filter.may_match(file));
  const std::string residual = file_filter.residual(partition);
  auto json = base::json::parse(residual, kLimits);
  if (!json) std::abort();
  auto rest = bound(*json, columns);
  if (!rest || scan::FileFilter(*rest, kSpec).residual(partition) != residual) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto json = base::json::parse({reinterpret_cast<const char*>(data), size}, kLimits);
  if (!json) return 0;
  static_cast<void>(scan::scan_request_from_json(*json));
  static const model::Schema schema = sample_schema();
  static const scan::Columns columns(schema, scan::NameCase::kInsensitive);
  auto filter = bound(*json, columns);
  if (!filter) return 0;
  check(*filter, columns, {std::int32_t{1}, std::string("ab"), std::int32_t{18262}, std::nullopt});
  check(*filter, columns, {std::nullopt, std::nullopt, std::nullopt, std::int32_t{5}});
  return 0;
}

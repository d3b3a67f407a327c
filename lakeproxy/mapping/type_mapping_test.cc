#include "lakeproxy/mapping/type_mapping.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/testing/repository.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::Type;
using model::TypeKind;

TEST(IcebergType, shows_each_type_whose_values_are_read_right) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"boolean", "boolean"},
      {"int8", "int"},
      {"int16", "int"},
      {"int32", "int"},
      {"int64", "long"},
      {"float32", "float"},
      {"float64", "double"},
      {"decimal(9,2)", "decimal(9, 2)"},
      {"decimal(38,0)", "decimal(38, 0)"},
      {"date", "date"},
      {"time", "time"},
      {"timestamp", "timestamp"},
      {"timestamp_us", "timestamp"},
      {"timestamp_s", "timestamp"},
      {"timestamptz", "timestamptz"},
      {"varchar", "string"},
      {"json", "string"},
      {"blob", "binary"},
      {"uuid", "uuid"},
      {"int128", "double"},
      {"uint128", "double"},
      {"timetz", "time"},
      {"INT32", "int"},
  };
  for (const auto& [lake, iceberg] : cases) {
    auto type = iceberg_type(lake, {2});
    ASSERT_TRUE(type) << lake;
    EXPECT_EQ(type->to_string(), iceberg) << lake;
  }
}

TEST(IcebergType, refuses_what_has_none) {
  for (const char* lake : {"time_ns", "unknown", "enum", "bit", "decimal(39,0)", "decimal(5,6)",
                           "decimal(", "", "null"}) {
    EXPECT_FALSE(shown_type(lake)) << lake;
    for (std::int32_t version : {2, 3}) {
      auto type = iceberg_type(lake, {version, ReadableCopies::kOn});
      ASSERT_FALSE(type) << lake;
      EXPECT_EQ(type.error().kind(), ErrorKind::kUnsupported) << lake;
      EXPECT_NE(type.error().message().find(lake), std::string::npos) << lake;
    }
  }
}

TEST(IcebergType, a_type_that_needs_copies_is_shown_where_they_are_made) {
  struct Case {
    const char* lake;
    const char* iceberg;
    ReadableAs how;
  };
  constexpr Case kCases[] = {
      {"uint8", "int", ReadableAs::kFooterCopy},
      {"uint16", "int", ReadableAs::kFooterCopy},
      {"uint32", "long", ReadableAs::kValueCopy},
      {"uint64", "decimal(20, 0)", ReadableAs::kValueCopy},
      {"timestamp_ms", "timestamp", ReadableAs::kValueCopy},
      {"interval", "string", ReadableAs::kValueCopy},
  };
  for (const auto& [lake, iceberg, how] : kCases) {
    auto shown = shown_type(lake);
    ASSERT_TRUE(shown) << lake;
    EXPECT_EQ(shown->how, how) << lake;
    EXPECT_EQ(shown->type.to_string(), iceberg) << lake;
    auto type = iceberg_type(lake, {2, ReadableCopies::kOn});
    ASSERT_TRUE(type) << lake;
    EXPECT_EQ(*type, shown->type) << lake;
    auto refused = iceberg_type(lake, {3, ReadableCopies::kOff});
    ASSERT_FALSE(refused) << lake;
    EXPECT_NE(refused.error().message().find(shown->reason), std::string::npos) << lake;
  }
}

TEST(IcebergType, newer_types_need_format_version_3) {
  for (const char* lake : {"timestamp_ns", "timestamptz_ns", "variant", "geometry"}) {
    EXPECT_TRUE(iceberg_type(lake, {3})) << lake;
    auto type = iceberg_type(lake, {2});
    ASSERT_FALSE(type) << lake;
    EXPECT_EQ(type.error().kind(), ErrorKind::kUnsupported);
    EXPECT_NE(type.error().message().find("needs format version 3"), std::string::npos);
  }
}

std::string row_of(const LakeType& lake) {
  auto shown = shown_type(lake.name);
  if (!shown) {
    const std::string& message = shown.error().message();
    return fmt::format("| {} | | | refused | {} |\n", lake.duckdb,
                       message.substr(message.rfind(": ") + 2));
  }
  const char* how = shown->how == ReadableAs::kAsIs         ? "as they are"
                    : shown->how == ReadableAs::kFooterCopy ? "copies with another footer"
                                                            : "copies with converted values";
  return fmt::format("| {} | {} | {} | {} | {} |\n", lake.duckdb, shown->type.to_string(),
                     shown->format_version, how, shown->reason);
}

std::string table_of_types() {
  std::string text =
      "| DuckDB | Iceberg | from version | files are read | |\n|---|---|---|---|---|\n"
      "| DECIMAL(P, S) | decimal(P, S) | 2 | as they are | |\n";
  for (const LakeType& lake : lake_types()) {
    if (lake.name != "timestamp_us") text += row_of(lake);
  }
  return text;
}

// Written anew with UPDATE_DOCS=1 in the environment of this test.
TEST(TypesPage, has_the_table) {
  const auto page = base::testing::repository() / "docs/lake/types.md";
  std::ostringstream held;
  held << std::ifstream(page).rdbuf();
  std::string text = held.str();
  const std::size_t begin = text.find("| DuckDB |");
  const std::size_t end = text.find("\n\n", begin);
  ASSERT_NE(end, std::string::npos);
  const std::string held_table = text.substr(begin, end + 1 - begin);
  if (std::getenv("UPDATE_DOCS") != nullptr) {
    text.replace(begin, held_table.size(), table_of_types());
    std::ofstream(page) << text;
    return;
  }
  EXPECT_EQ(held_table, table_of_types()) << "run this test once with UPDATE_DOCS=1";
}

TEST(LakeType, comes_back_as_a_type_that_stands_for_it) {
  const std::vector<Type> types = {
      Type(TypeKind::kBoolean),
      Type(TypeKind::kInt),
      Type(TypeKind::kLong),
      Type(TypeKind::kFloat),
      Type(TypeKind::kDouble),
      Type::decimal(38, 10),
      Type(TypeKind::kDate),
      Type(TypeKind::kTime),
      Type(TypeKind::kTimestamp),
      Type(TypeKind::kTimestamptz),
      Type(TypeKind::kString),
      Type(TypeKind::kUuid),
      Type::fixed(16),
      Type(TypeKind::kBinary),
      Type(TypeKind::kTimestampNs),
      Type(TypeKind::kVariant),
      Type::geo(TypeKind::kGeometry, "srid:3857"),
      Type::geo(TypeKind::kGeography, ""),
  };
  for (const Type& type : types) {
    auto lake = lake_type(type);
    ASSERT_TRUE(lake) << type.to_string();
    auto back = iceberg_type(*lake, {3});
    ASSERT_TRUE(back) << *lake;
    EXPECT_TRUE(can_stand_for(*back, type)) << type.to_string();
  }
}

TEST(LakeType, refuses_what_the_lake_cannot_hold) {
  for (TypeKind kind : {TypeKind::kTimestamptzNs, TypeKind::kUnknown}) {
    auto lake = lake_type(Type(kind));
    ASSERT_FALSE(lake);
    EXPECT_EQ(lake.error().kind(), ErrorKind::kUnsupported);
  }
}

TEST(CanStandFor, other_types_do_not) {
  EXPECT_FALSE(can_stand_for(Type(TypeKind::kInt), Type(TypeKind::kLong)));
  EXPECT_FALSE(can_stand_for(Type(TypeKind::kBinary), Type(TypeKind::kString)));
  EXPECT_FALSE(can_stand_for(Type::fixed(4), Type(TypeKind::kBinary)));
  EXPECT_FALSE(can_stand_for(Type::decimal(9, 2), Type::decimal(9, 3)));
}

TEST(CanPromote, allows_icebergs_promotions_alone) {
  const Type i(TypeKind::kInt), l(TypeKind::kLong), f(TypeKind::kFloat), d(TypeKind::kDouble);
  EXPECT_TRUE(can_promote(i, l));
  EXPECT_TRUE(can_promote(f, d));
  EXPECT_TRUE(can_promote(i, i));
  EXPECT_TRUE(can_promote(Type::decimal(9, 2), Type::decimal(18, 2)));
  EXPECT_FALSE(can_promote(l, i));
  EXPECT_FALSE(can_promote(i, d));
  EXPECT_FALSE(can_promote(i, Type(TypeKind::kString)));
  EXPECT_FALSE(can_promote(Type(TypeKind::kDate), Type(TypeKind::kTimestamp)));
  EXPECT_FALSE(can_promote(Type::decimal(9, 2), Type::decimal(18, 3)));
  EXPECT_FALSE(can_promote(Type::decimal(18, 2), Type::decimal(9, 2)));
}

TEST(CanHold, takes_both_ends_of_a_range_and_nothing_beyond) {
  using model::Decimal;
  using model::Literal;
  struct Case {
    const char* lake;
    Literal inside, outside;
  };
  const __int128 beyond = static_cast<__int128>(1) << 64;
  const Case cases[] = {
      {"int8", std::int32_t{-128}, std::int32_t{-129}},
      {"int8", std::int32_t{127}, std::int32_t{128}},
      {"int16", std::int32_t{32767}, std::int32_t{32768}},
      {"uint8", std::int32_t{0}, std::int32_t{-1}},
      {"uint8", std::int32_t{255}, std::int32_t{256}},
      {"uint16", std::int32_t{65535}, std::int32_t{65536}},
      {"uint32", std::int64_t{4294967295}, std::int64_t{4294967296}},
      {"uint32", std::int64_t{0}, std::int64_t{INT64_MIN}},
      {"uint32", std::int64_t{1}, std::int64_t{INT64_MAX}},
      {"uint64", Decimal{beyond - 1}, Decimal{beyond}},
      {"uint64", Decimal{0}, Decimal{-1}},
      {"int128", -0x1p127, 0x1p127},
      {"int128", 3.0, 3.5},
      {"int128", 0.0, std::numeric_limits<double>::quiet_NaN()},
      {"int128", 0.0, -std::numeric_limits<double>::infinity()},
      {"uint128", 0x1p127, 0x1p128},
      {"uint128", -0.0, -1.0},
      {"timestamp_s", std::int64_t{-3'000'000}, std::int64_t{-2'999'999}},
      {"timestamp_ms", std::int64_t{-3'000}, std::int64_t{-2'999}},
  };
  for (const auto& [lake, inside, outside] : cases) {
    EXPECT_TRUE(can_hold(lake, inside)) << lake;
    EXPECT_FALSE(can_hold(lake, outside)) << lake;
  }
  EXPECT_FALSE(can_hold("interval", Literal(std::string("P1D"))));
  EXPECT_TRUE(can_hold("timetz", Literal(std::int64_t{0})));
  EXPECT_TRUE(holds_every_value("timetz"));
  EXPECT_FALSE(holds_every_value("int128"));
}

TEST(ArrangesAlike, not_where_text_or_order_is_another) {
  for (const char* lake : {"int128", "UINT128", "timetz", "interval"}) {
    EXPECT_FALSE(arranges_alike(lake)) << lake;
  }
  for (const char* lake : {"int8", "uint64", "time", "json", "timestamp_s"}) {
    EXPECT_TRUE(arranges_alike(lake)) << lake;
  }
}

TEST(BucketIsIcebergs, only_where_the_hash_agrees) {
  for (const char* same : {"int32", "int64", "date", "timestamptz", "varchar", "blob"}) {
    EXPECT_TRUE(bucket_is_icebergs(same)) << same;
  }
  for (const char* other : {"uuid", "decimal(9,2)", "uint8", "timestamp_s", "timestamp_ns", "json",
                            "float64", "boolean"}) {
    EXPECT_FALSE(bucket_is_icebergs(other)) << other;
  }
}

}  // namespace
}  // namespace lake::ducklake

#include "lakeproxy/mapping/type_mapping.h"

#include <gtest/gtest.h>

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
      {"INT32", "int"},
  };
  for (const auto& [lake, iceberg] : cases) {
    auto type = iceberg_type(lake, {2});
    ASSERT_TRUE(type) << lake;
    EXPECT_EQ(type->to_string(), iceberg) << lake;
  }
}

TEST(IcebergType, refuses_what_readers_would_misread) {
  for (const char* lake : {"uint8", "uint16", "uint32", "uint64", "int128", "uint128",
                           "timestamp_ms", "time_ns", "timetz", "interval", "unknown", "enum",
                           "bit", "decimal(39,0)", "decimal(5,6)", "decimal(", "", "null"}) {
    for (std::int32_t version : {2, 3}) {
      auto type = iceberg_type(lake, {version});
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

#include "lakeproxy/mapping/lake_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "lakeproxy/iceberg/schema/civil_date.h"

namespace lake::model {
namespace {

struct Case {
  const char* name;
  Type type;
  const char* text;
  Literal literal;
};

// The texts are what DuckDB 1.5.5 wrote into ducklake_file_column_stats.
std::vector<Case> cases() {
  return {
      {"true", Type(TypeKind::kBoolean), "1", true},
      {"false", Type(TypeKind::kBoolean), "0", false},
      {"int_min", Type(TypeKind::kInt), "-2147483648", std::numeric_limits<std::int32_t>::min()},
      {"long_max", Type(TypeKind::kLong), "9223372036854775807",
       std::numeric_limits<std::int64_t>::max()},
      {"float", Type(TypeKind::kFloat), "-0.1", -0.1f},
      {"whole_double", Type(TypeKind::kDouble), "99.0", 99.0},
      {"small_double", Type(TypeKind::kDouble), "-1e-300", -1e-300},
      {"infinity", Type(TypeKind::kDouble), "-inf", -std::numeric_limits<double>::infinity()},
      {"decimal", Type::decimal(9, 2), "99.99", Decimal{9999}},
      {"negative_decimal", Type::decimal(38, 10), "-2.2500000000", Decimal{-22500000000}},
      {"small_decimal", Type::decimal(9, 2), "0.05", Decimal{5}},
      {"decimal_without_scale", Type::decimal(9, 0), "-7", Decimal{-7}},
      {"epoch", Type(TypeKind::kDate), "1970-01-01", std::int32_t{0}},
      {"leap_day", Type(TypeKind::kDate), "2024-02-29", std::int32_t{19782}},
      {"before_christ", Type(TypeKind::kDate), "0044-03-15 (BC)", std::int32_t{-735160}},
      {"far_date", Type(TypeKind::kDate), "12020-01-01", std::int32_t{3670687}},
      {"last_date", Type(TypeKind::kDate), "5881580-07-11",
       std::numeric_limits<std::int32_t>::max()},
      {"first_date", Type(TypeKind::kDate), "5877642-06-25 (BC)", std::int32_t{-2147483646}},
      {"time", Type(TypeKind::kTime), "01:02:03.4", std::int64_t{3723400000}},
      {"timestamp", Type(TypeKind::kTimestamp), "2020-01-02 03:04:05.678901",
       std::int64_t{1577934245678901}},
      {"before_epoch", Type(TypeKind::kTimestamp), "1969-12-31 23:59:59.999999", std::int64_t{-1}},
      {"first_year", Type(TypeKind::kTimestamp), "0001-01-01 00:00:00",
       std::int64_t{-62135596800000000}},
      {"zoned", Type(TypeKind::kTimestamptz), "2020-01-01 22:04:05+00",
       std::int64_t{1577916245000000}},
      {"nanoseconds", Type(TypeKind::kTimestampNs), "2020-01-02 03:04:05.123456789",
       std::int64_t{1577934245123456789}},
      {"text", Type(TypeKind::kString), "'q\"", std::string("'q\"")},
      {"uuid", Type(TypeKind::kUuid), "00112233-4455-6677-8899-aabbccddeeff",
       base::Uuid{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
                  0xdd, 0xee, 0xff}},
      {"fixed", Type::fixed(2), "AA00", Bytes{std::string("\xAA\0", 2)}},
      {"bytes", Type(TypeKind::kBinary), "AA0062", Bytes{std::string("\xAA\0b", 3)}},
  };
}

TEST(LakeText, reads_and_writes_what_duckdb_writes) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    auto parsed = parse_lake_text(c.type, c.text);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_TRUE(*parsed == c.literal);
    EXPECT_EQ(to_lake_text(c.type, c.literal), c.text);
  }
}

TEST(LakeText, takes_what_is_not_a_value_for_unknown) {
  const std::pair<Type, const char*> bad[] = {
      {Type(TypeKind::kBoolean), "2"},
      {Type(TypeKind::kInt), "2147483648"},
      {Type(TypeKind::kInt), " 1"},
      {Type(TypeKind::kLong), "9223372036854775808"},
      {Type(TypeKind::kDouble), "nan"},
      {Type(TypeKind::kDouble), "-nan"},
      {Type(TypeKind::kDouble), "nan(1)"},
      {Type(TypeKind::kDouble), "1e400"},
      {Type(TypeKind::kDouble), ""},
      {Type(TypeKind::kFloat), "1e39"},
      {Type(TypeKind::kDouble), "1.5x"},
      {Type::decimal(9, 2), "1.5"},
      {Type::decimal(9, 2), "."},
      {Type(TypeKind::kDate), "infinity"},
      {Type(TypeKind::kDate), "2023-02-29"},
      {Type(TypeKind::kDate), "2024-13-01"},
      {Type(TypeKind::kDate), "5881580-07-12"},
      {Type(TypeKind::kTime), "24:00:00"},
      {Type(TypeKind::kTime), "01:02:03."},
      {Type(TypeKind::kTimestamp), "-infinity"},
      {Type(TypeKind::kTimestamp), "294248-01-01 00:00:00"},
      {Type(TypeKind::kTimestamptz), "2020-01-01 00:00:00+02"},
      {Type(TypeKind::kUuid), "00112233"},
      {Type(TypeKind::kBinary), "A"},
      {Type::fixed(2), "AA"},
  };
  for (const auto& [type, text] : bad) {
    EXPECT_FALSE(parse_lake_text(type, text).has_value()) << type.to_string() << " " << text;
  }
}

TEST(LakeText, dates_survive_both_ways_over_many_centuries) {
  for (std::int64_t days = -1'000'000; days <= 4'000'000; days += 997) {
    CivilDate date = civil_from_days(days);
    EXPECT_EQ(days_from_civil(date.year, date.month, date.day), days);
  }
}

}  // namespace
}  // namespace lake::model

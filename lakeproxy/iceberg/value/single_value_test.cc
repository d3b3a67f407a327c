#include "lakeproxy/iceberg/value/single_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/core/text.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using model::Literal;
using model::Type;
using model::TypeKind;

struct SingleValue {
  std::string name;
  Type type;
  Literal value;
  std::string hex;
};

class SingleValueTest : public ::testing::TestWithParam<SingleValue> {};

TEST_P(SingleValueTest, is_written_and_read_back) {
  const auto& [name, type, value, hex] = GetParam();
  const std::string bytes = *base::from_hex(hex);
  EXPECT_EQ(encode_single_value(value), bytes);
  auto back = decode_single_value(bytes, type);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, value);
  EXPECT_TRUE(has_alternative_of(*back, type));
}

Literal decimal(__int128 unscaled) { return model::Decimal{unscaled}; }

__int128 power_of_ten(int exponent) {
  __int128 out = 1;
  for (int i = 0; i < exponent; ++i) out *= 10;
  return out;
}

INSTANTIATE_TEST_SUITE_P(
    Types, SingleValueTest,
    ::testing::Values(
        SingleValue{"no", Type(TypeKind::kBoolean), false, "00"},
        SingleValue{"yes", Type(TypeKind::kBoolean), true, "01"},
        SingleValue{"int", Type(TypeKind::kInt), std::int32_t{34}, "22000000"},
        SingleValue{"lowest_int", Type(TypeKind::kInt), std::numeric_limits<std::int32_t>::min(),
                    "00000080"},
        SingleValue{"date", Type(TypeKind::kDate), std::int32_t{-1}, "ffffffff"},
        SingleValue{"long", Type(TypeKind::kLong), std::int64_t{34}, "2200000000000000"},
        SingleValue{"lowest_long", Type(TypeKind::kLong), std::numeric_limits<std::int64_t>::min(),
                    "0000000000000080"},
        SingleValue{"time", Type(TypeKind::kTime), std::int64_t{1}, "0100000000000000"},
        SingleValue{"timestamp", Type(TypeKind::kTimestamp), std::int64_t{-1}, "ffffffffffffffff"},
        SingleValue{"timestamptz", Type(TypeKind::kTimestamptz), std::int64_t{256},
                    "0001000000000000"},
        SingleValue{"timestamp_ns", Type(TypeKind::kTimestampNs), std::int64_t{2},
                    "0200000000000000"},
        SingleValue{"timestamptz_ns", Type(TypeKind::kTimestamptzNs), std::int64_t{2},
                    "0200000000000000"},
        SingleValue{"float", Type(TypeKind::kFloat), -4.5F, "000090c0"},
        SingleValue{"double", Type(TypeKind::kDouble), 6.0, "0000000000001840"},
        SingleValue{"no_text", Type(TypeKind::kString), std::string(), ""},
        SingleValue{"text", Type(TypeKind::kString), std::string("caf\xC3\xA9"), "636166c3a9"},
        SingleValue{"uuid", Type(TypeKind::kUuid),
                    *base::parse_uuid("f79c3e09-677c-4bbd-a479-3f349cb785e7"),
                    "f79c3e09677c4bbda4793f349cb785e7"},
        SingleValue{"fixed", Type::fixed(3), model::Bytes{std::string("\0ab", 3)}, "006162"},
        SingleValue{"binary", Type(TypeKind::kBinary), model::Bytes{"\xFF"}, "ff"},
        SingleValue{"zero", Type::decimal(9, 2), decimal(0), "00"},
        SingleValue{"decimal", Type::decimal(9, 2), decimal(1420), "058c"},
        SingleValue{"decimal_127", Type::decimal(9, 2), decimal(127), "7f"},
        SingleValue{"decimal_128", Type::decimal(9, 2), decimal(128), "0080"},
        SingleValue{"decimal_minus_128", Type::decimal(9, 2), decimal(-128), "80"},
        SingleValue{"decimal_minus_129", Type::decimal(9, 2), decimal(-129), "ff7f"},
        SingleValue{"highest_decimal", Type::decimal(38, 0), decimal(power_of_ten(38) - 1),
                    "4b3b4ca85a86c47a098a223fffffffff"},
        SingleValue{"lowest_decimal", Type::decimal(38, 0), decimal(1 - power_of_ten(38)),
                    "b4c4b357a5793b85f675ddc000000001"}),
    [](const auto& test) { return test.param.name; });

TEST(PromotedValueTest, a_bound_from_before_a_promotion_is_taken) {
  auto as_long = decode_single_value(std::string("\xFE\xFF\xFF\xFF", 4), Type(TypeKind::kLong));
  ASSERT_TRUE(as_long);
  EXPECT_EQ(*as_long, Literal(std::int64_t{-2}));
  auto as_double = decode_single_value(encode_single_value(1.5F), Type(TypeKind::kDouble));
  ASSERT_TRUE(as_double);
  EXPECT_EQ(*as_double, Literal(1.5));
}

struct BadValue {
  std::string name;
  Type type;
  std::string hex;
  ErrorKind kind = ErrorKind::kInvalid;
};

class BadValueTest : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadValueTest, is_refused) {
  auto value = decode_single_value(*base::from_hex(GetParam().hex), GetParam().type);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().kind(), GetParam().kind);
}

INSTANTIATE_TEST_SUITE_P(
    SingleValueTest, BadValueTest,
    ::testing::Values(
        BadValue{"no_boolean", Type(TypeKind::kBoolean), ""},
        BadValue{"boolean_2", Type(TypeKind::kBoolean), "02"},
        BadValue{"long_boolean", Type(TypeKind::kBoolean), "0000"},
        BadValue{"short_int", Type(TypeKind::kInt), "000000"},
        BadValue{"long_int", Type(TypeKind::kInt), "0000000000"},
        BadValue{"long_for_int", Type(TypeKind::kInt), "0000000000000000"},
        BadValue{"short_date", Type(TypeKind::kDate), "00"},
        BadValue{"short_long", Type(TypeKind::kLong), "00000000000000"},
        BadValue{"long_long", Type(TypeKind::kLong), "000000000000000000"},
        BadValue{"int_for_time", Type(TypeKind::kTime), "00000000"},
        BadValue{"date_for_timestamp", Type(TypeKind::kTimestamp), "00000000"},
        BadValue{"short_float", Type(TypeKind::kFloat), "0000"},
        BadValue{"double_for_float", Type(TypeKind::kFloat), "0000000000001840"},
        BadValue{"short_double", Type(TypeKind::kDouble), "000000"},
        BadValue{"not_utf8", Type(TypeKind::kString), "ff"},
        BadValue{"short_uuid", Type(TypeKind::kUuid), "f79c3e09677c4bbda4793f349cb785"},
        BadValue{"short_fixed", Type::fixed(2), "00"},
        BadValue{"long_fixed", Type::fixed(2), "000000"},
        BadValue{"no_decimal", Type::decimal(9, 2), ""},
        BadValue{"decimal_over_precision", Type::decimal(2, 0), "64"},
        BadValue{"decimal_under_precision", Type::decimal(2, 0), "9c"},
        BadValue{"decimal_of_17_bytes", Type::decimal(38, 0), "0000000000000000000000000000000001"},
        BadValue{"list", Type::list(2, Type(TypeKind::kInt), false), "00", ErrorKind::kUnsupported},
        BadValue{"unknown", Type(TypeKind::kUnknown), "", ErrorKind::kUnsupported},
        BadValue{"variant", Type(TypeKind::kVariant), "00", ErrorKind::kUnsupported},
        BadValue{"geometry", Type::geo(TypeKind::kGeometry, ""), "00", ErrorKind::kUnsupported}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lake::materialize

#include "lakeproxy/iceberg/value/transform.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/core/text.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using model::Literal;
using model::Transform;
using model::TransformKind;
using model::Type;
using model::TypeKind;

constexpr std::int64_t kHour = 3'600'000'000;
constexpr std::int64_t kDay = 24 * kHour;

// Source: Iceberg table specification, Appendix B, test values.
struct Hash {
  std::string name;
  Type type;
  Literal value;
  std::int32_t hash;
};

class BucketHashTest : public ::testing::TestWithParam<Hash> {};

TEST_P(BucketHashTest, is_the_specifications) {
  auto hash = bucket_hash(GetParam().value, GetParam().type);
  ASSERT_TRUE(hash) << hash.error().message();
  EXPECT_EQ(*hash, GetParam().hash);
}

INSTANTIATE_TEST_SUITE_P(
    AppendixB, BucketHashTest,
    ::testing::Values(Hash{"int", Type(TypeKind::kInt), std::int32_t{34}, 2017239379},
                      Hash{"long", Type(TypeKind::kLong), std::int64_t{34}, 2017239379},
                      Hash{"decimal", Type::decimal(9, 2), model::Decimal{1420}, -500754589},
                      Hash{"date", Type(TypeKind::kDate), std::int32_t{17486}, -653330422},
                      Hash{"time", Type(TypeKind::kTime), std::int64_t{81'068'000'000}, -662762989},
                      Hash{"timestamp", Type(TypeKind::kTimestamp),
                           std::int64_t{1'510'871'468'000'000}, -2047944441},
                      Hash{"timestamptz_micro", Type(TypeKind::kTimestamptz),
                           std::int64_t{1'510'871'468'000'001}, -1207196810},
                      Hash{"timestamp_ns", Type(TypeKind::kTimestampNs),
                           std::int64_t{1'510'871'468'000'001'001}, -1207196810},
                      Hash{"string", Type(TypeKind::kString), std::string("iceberg"), 1210000089},
                      Hash{"uuid", Type(TypeKind::kUuid),
                           *base::parse_uuid("f79c3e09-677c-4bbd-a479-3f349cb785e7"), 1488055340},
                      Hash{"fixed", Type::fixed(4), model::Bytes{std::string("\0\1\2\3", 4)},
                           -188683207},
                      Hash{"binary", Type(TypeKind::kBinary),
                           model::Bytes{std::string("\0\1\2\3", 4)}, -188683207}),
    [](const auto& test) { return test.param.name; });

struct Apply {
  std::string name;
  Transform transform;
  Type type;
  Literal value;
  std::optional<Literal> result;
};

class TransformTest : public ::testing::TestWithParam<Apply> {};

TEST_P(TransformTest, gives_the_value_and_keeps_null) {
  const Apply& test = GetParam();
  auto result = apply_transform(test.transform, test.type, test.value);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(*result, test.result);
  auto null = apply_transform(test.transform, test.type, std::nullopt);
  ASSERT_TRUE(null);
  EXPECT_EQ(*null, std::nullopt);
}

std::optional<Literal> number(std::int32_t value) { return Literal(value); }
Literal date(std::int32_t days) { return days; }
Literal micros(std::int64_t value) { return value; }

const Transform kYear{TransformKind::kYear};
const Transform kMonth{TransformKind::kMonth};
const Transform kDays{TransformKind::kDay};
const Transform kHours{TransformKind::kHour};

Transform truncate(std::int32_t width) { return {TransformKind::kTruncate, width}; }

INSTANTIATE_TEST_SUITE_P(
    Numbers, TransformTest,
    ::testing::Values(
        Apply{"identity", {}, Type(TypeKind::kInt), std::int32_t{-3}, number(-3)},
        Apply{"void", {TransformKind::kVoid}, Type(TypeKind::kInt), std::int32_t{3}, {}},
        Apply{"bucket",
              {TransformKind::kBucket, 16},
              Type(TypeKind::kInt),
              std::int32_t{34},
              number(2017239379 % 16)},
        Apply{"bucket_of_negative_hash",
              {TransformKind::kBucket, 100},
              Type(TypeKind::kDate),
              date(17486),
              number((-653330422 & 0x7FFFFFFF) % 100)},
        Apply{"truncate", truncate(10), Type(TypeKind::kInt), std::int32_t{19}, number(10)},
        Apply{"truncate_zero", truncate(10), Type(TypeKind::kInt), std::int32_t{0}, number(0)},
        Apply{"truncate_minus_1", truncate(10), Type(TypeKind::kInt), std::int32_t{-1},
              number(-10)},
        Apply{"truncate_minus_10", truncate(10), Type(TypeKind::kInt), std::int32_t{-10},
              number(-10)},
        Apply{"truncate_long", truncate(10), Type(TypeKind::kLong), std::int64_t{-11},
              Literal(std::int64_t{-20})},
        Apply{"truncate_decimal", truncate(50), Type::decimal(9, 2), model::Decimal{1065},
              Literal(model::Decimal{1050})},
        Apply{"truncate_negative_decimal", truncate(50), Type::decimal(9, 2), model::Decimal{-1065},
              Literal(model::Decimal{-1100})},
        Apply{"truncate_text", truncate(3), Type(TypeKind::kString), std::string("iceberg"),
              Literal(std::string("ice"))},
        Apply{"truncate_short_text", truncate(3), Type(TypeKind::kString), std::string("ic"),
              Literal(std::string("ic"))},
        Apply{"truncate_code_points", truncate(2), Type(TypeKind::kString),
              std::string("a\xF0\x9F\x98\x80z"), Literal(std::string("a\xF0\x9F\x98\x80"))},
        Apply{"truncate_bytes", truncate(2), Type(TypeKind::kBinary), model::Bytes{"\xC3\xA9\xC3"},
              Literal(model::Bytes{"\xC3\xA9"})}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Times, TransformTest,
    ::testing::Values(
        Apply{"year_of_date", kYear, Type(TypeKind::kDate), date(17486), number(47)},
        Apply{"month_of_date", kMonth, Type(TypeKind::kDate), date(17486), number(574)},
        Apply{"day_of_date", kDays, Type(TypeKind::kDate), date(17486), number(17486)},
        Apply{"epoch_year", kYear, Type(TypeKind::kDate), date(0), number(0)},
        Apply{"year_before_epoch", kYear, Type(TypeKind::kDate), date(-1), number(-1)},
        Apply{"month_before_epoch", kMonth, Type(TypeKind::kDate), date(-1), number(-1)},
        Apply{"first_day_of_1969", kYear, Type(TypeKind::kDate), date(-365), number(-1)},
        Apply{"last_day_of_1968", kYear, Type(TypeKind::kDate), date(-366), number(-2)},
        Apply{"leap_day", kMonth, Type(TypeKind::kDate), date(11016), number(361)},
        Apply{"day_after_leap_day", kMonth, Type(TypeKind::kDate), date(11017), number(362)},
        Apply{"highest_date", kYear, Type(TypeKind::kDate), date(2147483647), number(5879610)},
        Apply{"day_of_timestamp", kDays, Type(TypeKind::kTimestamp), micros(kDay - 1), number(0)},
        Apply{"next_day", kDays, Type(TypeKind::kTimestamptz), micros(kDay), number(1)},
        Apply{"day_before_epoch", kDays, Type(TypeKind::kTimestamp), micros(-1), number(-1)},
        Apply{"whole_day_before", kDays, Type(TypeKind::kTimestamp), micros(-kDay), number(-1)},
        Apply{"two_days_before", kDays, Type(TypeKind::kTimestamp), micros(-kDay - 1), number(-2)},
        Apply{"hour", kHours, Type(TypeKind::kTimestamp), micros(kHour * 25), number(25)},
        Apply{"hour_before_epoch", kHours, Type(TypeKind::kTimestamptz), micros(-1), number(-1)},
        Apply{"year_before_epoch_micros", kYear, Type(TypeKind::kTimestamp), micros(-1),
              number(-1)},
        Apply{"month_before_epoch_micros", kMonth, Type(TypeKind::kTimestamp), micros(-1),
              number(-1)},
        Apply{"hour_of_nanos", kHours, Type(TypeKind::kTimestampNs), micros(-1), number(-1)},
        Apply{"day_of_nanos", kDays, Type(TypeKind::kTimestamptzNs), micros(kDay * 1000),
              number(1)},
        Apply{"lowest_timestamp_year", kYear, Type(TypeKind::kTimestamp),
              micros(std::numeric_limits<std::int64_t>::min()), number(-292278)}),
    [](const auto& test) { return test.param.name; });

struct Refusal {
  std::string name;
  Transform transform;
  Type type;
  Literal value;
  ErrorKind kind = ErrorKind::kInvalid;
};

class RefusedTransformTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedTransformTest, names_the_kind) {
  const Refusal& test = GetParam();
  auto result = apply_transform(test.transform, test.type, test.value);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), test.kind);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RefusedTransformTest,
    ::testing::Values(
        Refusal{"hour_of_date", kHours, Type(TypeKind::kDate), date(1)},
        Refusal{"year_of_time", kYear, Type(TypeKind::kTime), micros(1)},
        Refusal{"day_of_int", kDays, Type(TypeKind::kInt), std::int32_t{1}},
        Refusal{"bucket_of_double", {TransformKind::kBucket, 4}, Type(TypeKind::kDouble), 1.0},
        Refusal{"bucket_of_float", {TransformKind::kBucket, 4}, Type(TypeKind::kFloat), 1.0F},
        Refusal{"bucket_of_boolean", {TransformKind::kBucket, 4}, Type(TypeKind::kBoolean), true},
        Refusal{"bucket_0", {TransformKind::kBucket, 0}, Type(TypeKind::kInt), std::int32_t{1}},
        Refusal{"truncate_0", truncate(0), Type(TypeKind::kInt), std::int32_t{1}},
        Refusal{"truncate_uuid", truncate(4), Type(TypeKind::kUuid), base::Uuid{}},
        Refusal{"truncate_below_int", truncate(10), Type(TypeKind::kInt),
                std::numeric_limits<std::int32_t>::min()},
        Refusal{"truncate_below_long", truncate(10), Type(TypeKind::kLong),
                std::numeric_limits<std::int64_t>::min()},
        Refusal{"hour_over_32_bits", kHours, Type(TypeKind::kTimestamp),
                std::numeric_limits<std::int64_t>::max()},
        Refusal{"identity_of_variant", {}, Type(TypeKind::kVariant), std::int32_t{1}},
        Refusal{"value_of_another_type", {}, Type(TypeKind::kLong), std::int32_t{1}},
        Refusal{"unknown",
                {TransformKind::kUnknown, 0, "zorder"},
                Type(TypeKind::kInt),
                std::int32_t{1},
                ErrorKind::kUnsupported}),
    [](const auto& test) { return test.param.name; });

TEST(TransformResultTypeTest, follows_transform_and_source) {
  const Type text(TypeKind::kString);
  const Type time(TypeKind::kTimestamptz);
  EXPECT_EQ(*transform_result_type({}, text), text);
  EXPECT_EQ(*transform_result_type({TransformKind::kVoid}, text), text);
  EXPECT_EQ(*transform_result_type(truncate(3), text), text);
  EXPECT_EQ(*transform_result_type({TransformKind::kBucket, 3}, text), Type(TypeKind::kInt));
  EXPECT_EQ(*transform_result_type(kYear, time), Type(TypeKind::kInt));
  EXPECT_EQ(*transform_result_type(kMonth, time), Type(TypeKind::kInt));
  EXPECT_EQ(*transform_result_type(kDays, time), Type(TypeKind::kDate));
  EXPECT_EQ(*transform_result_type(kHours, time), Type(TypeKind::kInt));
}

}  // namespace
}  // namespace lake::materialize

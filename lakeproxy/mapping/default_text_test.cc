#include "lakeproxy/mapping/default_text.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using model::Literal;
using model::Type;
using model::TypeKind;

model::Field field(Type type) { return {.id = 1, .name = "c", .type = std::move(type)}; }

TEST(DefaultText, is_read_back_as_it_was_written) {
  struct Case {
    Type type;
    Literal value;
    const char* text;
  };
  const Case cases[] = {
      {Type(TypeKind::kInt), std::int32_t{-7}, "-7"},
      {Type(TypeKind::kString), std::string("it's \\x41"), "it's \\x41"},
      {Type(TypeKind::kBinary), model::Bytes{std::string("\xAA\0b", 3)}, "\\xAA\\x00\\x62"},
      {Type::fixed(1), model::Bytes{"a"}, "\\x61"},
      {Type(TypeKind::kTimestampNs), std::int64_t{1}, "1970-01-01 00:00:00.000000001"},
      {Type(TypeKind::kTimestamptz), std::int64_t{0}, "1970-01-01 00:00:00+00"}};
  for (const Case& c : cases) {
    auto text = default_text(field(c.type), c.value);
    ASSERT_TRUE(text) << c.text;
    EXPECT_EQ(*text, c.text);
    EXPECT_EQ(parse_default(c.type, *text), c.value) << c.text;
  }
}

TEST(DefaultText, printable_bytes_may_stand_for_themselves) {
  EXPECT_EQ(parse_default(Type(TypeKind::kBinary), "a\\x00~"),
            Literal(model::Bytes{std::string("a\0~", 3)}));
  for (const char* bad : {"\\", "\\x", "\\x0", "\\xZZ", "\x01", "\xC3\xA9"}) {
    EXPECT_EQ(parse_default(Type(TypeKind::kBinary), bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_default(Type::fixed(2), "a"), std::nullopt);
}

TEST(DefaultText, a_time_with_a_zone_is_in_utc) {
  constexpr std::int64_t kHour = 3'600'000'000;
  const Type time(TypeKind::kTime);
  EXPECT_EQ(parse_default(time, "12:00:00"), Literal(12 * kHour));
  EXPECT_EQ(parse_default(time, "12:00:00.5+02"), Literal(10 * kHour + 500'000));
  EXPECT_EQ(parse_default(time, "00:30:00+01:30"), Literal(23 * kHour));
  EXPECT_EQ(parse_default(time, "23:00:00-15:59:59"), Literal(15 * kHour - 1'000'000));
  for (const char* bad : {"12:00:00+", "12:00:00+2", "12:00:00+02:", "12:00:00+99", "+02"}) {
    EXPECT_EQ(parse_default(time, bad), std::nullopt) << bad;
  }
}

TEST(DefaultText, a_constant_may_stand_in_a_cast_to_the_columns_type) {
  const Type boolean(TypeKind::kBoolean), date(TypeKind::kDate), time(TypeKind::kTime),
      timestamp(TypeKind::kTimestamp), zoned(TypeKind::kTimestamptz);
  EXPECT_EQ(parse_default(boolean, "CAST('t' AS BOOLEAN)"), Literal(true));
  EXPECT_EQ(parse_default(boolean, "CAST('f' AS BOOLEAN)"), Literal(false));
  EXPECT_EQ(parse_default(date, "CAST('1970-01-03' AS \"DATE\")"), Literal(std::int32_t{2}));
  EXPECT_EQ(parse_default(time, "CAST('00:00:01' AS TIME)"), Literal(std::int64_t{1'000'000}));
  EXPECT_EQ(parse_default(timestamp, "CAST('1970-01-01 00:00:00.5' AS TIMESTAMP)"),
            Literal(std::int64_t{500'000}));
  EXPECT_EQ(parse_default(zoned, "CAST('1970-01-01 00:00:01+00' AS \"TIMESTAMP WITH TIME ZONE\")"),
            Literal(std::int64_t{1'000'000}));
  for (const char* bad : {"CAST('t' AS VARCHAR)", "CAST('x' AS BOOLEAN)", "CAST('t' AS BOOLEAN) ",
                          "CAST('t", "CAST(t AS BOOLEAN)", "CAST('t'' AS BOOLEAN)"}) {
    EXPECT_EQ(parse_default(boolean, bad), std::nullopt) << bad;
  }
  const std::string text = "CAST('t' AS VARCHAR)";
  EXPECT_EQ(parse_default(Type(TypeKind::kString), text), Literal(text)) << "a text may say so";
}

TEST(DefaultText, a_decimal_may_have_fewer_digits) {
  const Type money = Type::decimal(10, 2);
  const std::pair<const char*, int> cases[] = {
      {"1.5", 150}, {"-1", -100}, {"0", 0}, {"1.", 100}, {"7.25", 725}};
  for (const auto& [text, unscaled] : cases) {
    EXPECT_EQ(parse_default(money, text), Literal(model::Decimal{unscaled})) << text;
  }
  for (const char* bad : {"1.555", "1e5", "", ".", "1.5.5"}) {
    EXPECT_EQ(parse_default(money, bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_default(Type::decimal(5, 0), "12"), Literal(model::Decimal{12}));
}

TEST(DefaultText, null_is_no_default) {
  EXPECT_EQ(parse_default(Type(TypeKind::kString), "NULL"), std::nullopt);
  auto text = default_text(field(Type(TypeKind::kString)), std::string("NULL"));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind(), base::ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace lake::ducklake

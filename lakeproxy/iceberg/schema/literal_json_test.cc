#include "lakeproxy/iceberg/schema/literal_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/json/json.h"
#include "lakeproxy/iceberg/schema/literal_text.h"

namespace lake::model {
namespace {

base::Result<Literal> read(const std::string& type, const std::string& json) {
  const auto value = base::json::parse(json);
  if (!value) return value.error();
  return literal_from_json(*value, parse_primitive_type(type).value(), "here");
}

TEST(LiteralJsonTest, refuses_values_of_another_type_or_range_and_names_the_path) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"boolean", "1"},
      {"boolean", "\"true\""},
      {"int", "2147483648"},
      {"int", "-2147483649"},
      {"int", "1.0"},
      {"int", "\"1\""},
      {"long", "9223372036854775808"},
      {"long", "1.5"},
      {"float", "\"1.0\""},
      {"float", "1e39"},
      {"double", "true"},
      {"string", "1"},
      {"uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e\""},
      {"uuid", "\"f79c3e09677c4bbda4793f349cb785e7\""},
      {"date", "17486"},
      {"date", "\"2017-02-29\""},
      {"date", "\"2017-13-01\""},
      {"date", "\"2017-00-01\""},
      {"date", "\"2017-01-00\""},
      {"date", "\"17-01-01\""},
      {"date", "\"12017-01-01\""},
      {"date", "\"+5881580-07-12\""},
      {"date", "\"-5877641-06-22\""},
      {"date", "\"2017-01-01T00:00:00\""},
      {"time", "\"24:00:00\""},
      {"time", "\"23:60:00\""},
      {"time", "\"23:59:60\""},
      {"time", "\"23:59\""},
      {"time", "\"23:59:59.1234567\""},
      {"time", "\"23:59:59.\""},
      {"time", "\"23:59:59,1\""},
      {"timestamp", "\"2017-11-16T22:31:08+00:00\""},
      {"timestamp", "\"2017-11-16 22:31:08\""},
      {"timestamp", "\"+294247-01-10T04:00:54.775808\""},
      {"timestamp", "\"-290308-12-21T19:59:05.224191\""},
      {"timestamptz", "\"2017-11-16T22:31:08\""},
      {"timestamptz", "\"2017-11-16T22:31:08+01:00\""},
      {"timestamp_ns", "\"2017-11-16T22:31:08.1234567890\""},
      {"timestamp_ns", "\"2262-04-11T23:47:16.854775808\""},
      {"fixed[4]", "\"000102\""},
      {"fixed[4]", "\"0001020304\""},
      {"binary", "\"0\""},
      {"binary", "\"0g\""},
      {"decimal(9, 2)", "14.20"},
      {"decimal(9, 2)", "\"14.2\""},
      {"decimal(9, 2)", "\"14.200\""},
      {"decimal(9, 2)", "\"14\""},
      {"decimal(9, 2)", "\"12345678.90\""},
      {"decimal(9, 2)", "\".20\""},
      {"decimal(9, 2)", "\"+1.20\""},
      {"decimal(9, 2)", "\"1e2.00\""},
      {"decimal(9, 0)", "\"1.\""},
      {"unknown", "\"x\""},
      {"variant", "\"x\""},
      {"geometry", "\"POINT (1 1)\""},
      {"geography", "\"POINT (1 1)\""},
      {"int", "null"},
      {"string", "{}"},
  };
  for (const auto& [type, json] : cases) {
    const auto literal = read(type, json);
    ASSERT_FALSE(literal) << type << " " << json;
    EXPECT_EQ(literal.error().kind(), base::ErrorKind::kInvalid) << json;
    EXPECT_TRUE(literal.error().message().starts_with("here: ")) << literal.error().message();
  }
}

TEST(LiteralJsonTest, accepts_other_spellings_of_the_same_value) {
  EXPECT_EQ(read("timestamptz", "\"1970-01-01T00:00:00Z\"").value(), Literal(std::int64_t{0}));
  EXPECT_EQ(read("timestamp", "\"1970-01-01T00:00:00.000000\"").value(), Literal(std::int64_t{0}));
  EXPECT_EQ(read("binary", "\"abFF\"").value(), Literal(Bytes{"\xab\xff"}));
  EXPECT_EQ(read("double", "3").value(), Literal(3.0));
  EXPECT_EQ(read("double", "18446744073709551615").value(), Literal(18446744073709551615.0));
  EXPECT_EQ(read("decimal(9, 2)", "\"-0.00\"").value(), Literal(Decimal{0}));
  EXPECT_EQ(read("decimal(3, 2)", "\"0001.20\"").value(), Literal(Decimal{120}));
}

TEST(LiteralJsonTest, numbers_without_a_json_form_are_quoted_and_read_back) {
  const Type type(TypeKind::kDouble);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(base::json::write(to_json(Literal(infinity), type)), "\"Infinity\"");
  EXPECT_EQ(base::json::write(to_json(Literal(-infinity), type)), "\"-Infinity\"");
  EXPECT_EQ(read("double", "\"Infinity\"").value(), Literal(infinity));
  EXPECT_EQ(read("float", "\"-Infinity\"").value(), Literal(-static_cast<float>(infinity)));
  const auto nan = read("double", base::json::write(to_json(Literal(std::nan("")), type)));
  ASSERT_TRUE(nan);
  EXPECT_TRUE(std::isnan(std::get<double>(*nan)));
}

TEST(IsoTimeTest, every_day_of_nine_hundred_years_reads_back) {
  for (std::int32_t days = -200'000; days < 130'000; ++days) {
    const std::string text = format_date(days);
    ASSERT_EQ(parse_date(text), days) << text;
  }
  EXPECT_EQ(format_date(11'016), "2000-02-29");
  EXPECT_EQ(parse_date("1900-02-29"), std::nullopt);
  EXPECT_EQ(parse_date("2000-02-29"), 11'016);
}

TEST(IsoTimeTest, the_ends_of_the_range_read_back) {
  for (const std::int64_t unit : {kMicrosPerSecond, kNanosPerSecond}) {
    for (const std::int64_t ticks :
         {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
          std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}}) {
      EXPECT_EQ(parse_timestamp(format_timestamp(ticks, unit), unit), ticks);
    }
  }
}

TEST(DecimalTextTest, every_scale_reads_back) {
  for (int scale = 0; scale <= 38; ++scale) {
    for (const __int128 unscaled : {__int128{0}, __int128{1}, __int128{-1}, __int128{-12345},
                                    __int128{1'000'000'007} * 1'000'000'000'000}) {
      const std::string text = format_decimal(Decimal{unscaled}, scale);
      ASSERT_EQ(parse_decimal(text, 38, scale), Decimal{unscaled}) << text;
    }
  }
}

}  // namespace
}  // namespace lake::model

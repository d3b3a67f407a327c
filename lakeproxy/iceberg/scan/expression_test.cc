#include "lakeproxy/iceberg/scan/expression.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/iceberg/scan/filter_value.h"
#include "lakeproxy/iceberg/scan/scan_request.h"

namespace lake::scan {
namespace {

using base::ErrorKind;
using model::Field;
using model::Literal;
using model::Type;
using model::TypeKind;
using ::testing::HasSubstr;
using ::testing::StartsWith;

model::Schema sample_schema() {
  model::Schema schema;
  schema.fields = {
      Field{.id = 1, .name = "i", .type = Type(TypeKind::kInt)},
      Field{.id = 2, .name = "s", .type = Type(TypeKind::kString)},
      Field{.id = 3, .name = "d", .type = Type(TypeKind::kDouble)},
      Field{.id = 4, .name = "day", .type = Type(TypeKind::kDate)},
      Field{.id = 5, .name = "Name", .type = Type(TypeKind::kString)},
      Field{.id = 6, .name = "name", .type = Type(TypeKind::kString)},
      Field{.id = 7,
            .name = "p",
            .type = Type::structure({Field{.id = 8, .name = "a", .type = Type(TypeKind::kLong)}})},
      Field{.id = 9, .name = "l", .type = Type::list(10, Type(TypeKind::kInt), false)},
      Field{.id = 11, .name = "p.a", .type = Type(TypeKind::kString)},
  };
  return schema;
}

base::json::Value json_of(std::string_view text) {
  auto json = base::json::parse(text, {.depth = 1000});
  EXPECT_TRUE(json) << text;
  return json ? *json : base::json::Value();
}

base::Result<Filter> filter_of(std::string_view text, NameCase names = NameCase::kSensitive) {
  auto read = expression_from_json(json_of(text), "filter");
  if (!read) return std::move(read).error();
  const auto schema = sample_schema();
  return bind(*read, Columns(schema, names), "filter");
}

std::string nested(std::size_t levels) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += R"({"type":"not","child":)";
  return text + "true" + std::string(levels, '}');
}

TEST(Expression, takes_each_form_that_clients_send) {
  const char* forms[] = {
      "true",
      "false",
      R"({"type":"true"})",
      R"({"type":"literal","value":false})",
      R"({"type":"eq","term":"i","value":5})",
      R"({"type":"eq","term":{"type":"reference","name":"i"},"value":{"type":"literal","value":5}})",
      R"({"type":"eq","left":{"type":"reference","id":1},"right":5})",
      R"({"type":"lt","left":5,"right":{"type":"reference","name":"i"}})",
      R"({"type":"is-null","child":{"type":"reference","name":"l"}})",
      R"({"type":"in","term":"i","values":[]})",
      R"({"type":"not-in","child":{"type":"reference","id":1},
          "values":{"type":"literals","values":[1,2],"data-type":"int"}})",
      R"({"type":"eq","term":{"type":"transform","transform":"bucket[4]","term":"i"},"value":3})",
      R"({"type":"eq","left":{"type":"apply","function":"year",
          "arguments":[{"type":"reference","name":"day"}]},"right":50})",
      R"({"type":"and","left":true,"right":{"type":"or","left":false,"right":true}})",
      R"({"type":"is-nan","term":"s"})",
      R"({"type":"gt","term":"p.a","value":"x"})",
  };
  for (const char* form : forms) {
    auto filter = filter_of(form);
    EXPECT_TRUE(filter) << form << ": " << filter.error().message();
  }
}

struct Refused {
  std::string text;
  const char* path;
};

TEST(Expression, names_where_and_why_it_refuses) {
  const Refused cases[] = {
      {R"("x")", "filter: "},
      {R"({})", "filter.type: "},
      {R"({"type":"like","term":"i","value":1})", "filter.type: "},
      {R"({"type":"and","left":true})", "filter.right: "},
      {R"({"type":"and","left":true,"right":{"type":"not"}})", "filter.right.child: "},
      {R"({"type":"eq","term":"i"})", "filter.value: "},
      {R"({"type":"eq","term":"i","value":[1]})", "filter.value: "},
      {R"({"type":"eq","term":5,"value":1})", "filter.term: "},
      {R"({"type":"in","term":"i","values":5})", "filter.values: "},
      {R"({"type":"in","term":"i","values":[1,null]})", "filter.values[1]: "},
      {R"({"type":"eq","left":1,"right":2})", "filter: "},
      {R"({"type":"starts-with","left":"x","right":{"type":"reference","name":"s"}})",
       "filter.left: "},
      {R"({"type":"eq","term":{"type":"transform","transform":"zorder","term":"i"},"value":1})",
       "filter.term: "},
      // What does not fit the schema.
      {R"({"type":"eq","term":"none","value":1})", "filter.term: "},
      {R"({"type":"not","child":{"type":"eq","term":"I","value":1}})", "filter.child.term: "},
      {R"({"type":"eq","term":"l.element","value":1})", "filter.term: "},
      {R"({"type":"eq","left":{"type":"reference","id":99},"right":1})", "filter.term: "},
      {R"({"type":"eq","term":"i","value":"five"})", "filter.value: "},
      {R"({"type":"eq","term":"i","value":1.5})", "filter.value: "},
      {R"({"type":"in","term":"i","values":[1,"x"]})", "filter.values[1]: "},
      {R"({"type":"eq","term":"d","value":"NaN"})", "filter.value: "},
      {R"({"type":"eq","term":"l","value":1})", "filter.value: "},
      {R"({"type":"starts-with","term":"i","value":1})", "filter.term: "},
      {R"({"type":"eq","term":{"type":"transform","transform":"hour","term":"day"},"value":1})",
       "filter.term: "},
  };
  for (const Refused& c : cases) {
    auto filter = filter_of(c.text);
    ASSERT_FALSE(filter) << c.text;
    EXPECT_EQ(filter.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(filter.error().message(), StartsWith(c.path)) << c.text;
  }
}

TEST(Expression, is_bounded_in_depth_parts_and_values) {
  EXPECT_TRUE(filter_of(nested(kMostDepth)));
  EXPECT_THAT(filter_of(nested(kMostDepth + 1)).error().message(), HasSubstr("levels"));
  std::string wide = "true";
  for (int i = 0; i < 14; ++i)
    wide = R"({"type":"and","left":)" + wide + R"(,"right":)" + wide + "}";
  EXPECT_THAT(filter_of(wide).error().message(), HasSubstr("parts"));
  auto set = [](std::size_t count) {
    std::string text = R"({"type":"in","term":"i","values":[1)";
    for (std::size_t i = 1; i < count; ++i) text += ",1";
    return text + "]}";
  };
  EXPECT_TRUE(filter_of(set(kMostValues)));
  EXPECT_THAT(filter_of(set(kMostValues + 1)).error().message(), HasSubstr("values"));
}

TEST(Expression, finds_columns_by_case_as_it_is_told) {
  auto upper = R"({"type":"is-null","term":"DAY"})";
  EXPECT_FALSE(filter_of(upper));
  auto filter = filter_of(upper, NameCase::kInsensitive);
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->predicates[0].field_id, 4);
  // Two columns that differ in case alone.
  EXPECT_EQ(filter_of(R"({"type":"is-null","term":"Name"})")->predicates[0].field_id, 5);
  auto two = filter_of(R"({"type":"is-null","term":"NAME"})", NameCase::kInsensitive);
  EXPECT_THAT(two.error().message(), HasSubstr("more than one"));
}

TEST(Expression, prefers_a_column_to_a_field_of_a_struct_that_is_spelled_alike) {
  EXPECT_EQ(filter_of(R"({"type":"is-null","term":"p.a"})")->predicates[0].field_id, 11);
  auto by_id = filter_of(R"({"type":"is-null","child":{"type":"reference","id":8}})");
  ASSERT_TRUE(by_id);
  EXPECT_TRUE(by_id->predicates[0].in_struct);
}

TEST(Expression, turns_a_comparison_whose_value_stands_left) {
  auto filter = filter_of(R"({"type":"lt-eq","left":5,"right":{"type":"reference","name":"i"}})");
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->predicates[0].op, Op::kGtEq);
  EXPECT_EQ(filter->predicates[0].json, R"({"type":"gt-eq","term":"i","value":5})");
}

struct ValueCase {
  const char* json;
  Type type;
  std::optional<PlacedValue> read;
};

PlacedValue in(Literal value) { return {Place::kInside, std::move(value)}; }
const PlacedValue kOver{Place::kAbove, std::nullopt};
const PlacedValue kUnder{Place::kBelow, std::nullopt};

TEST(FilterValue, reads_what_clients_send_for_each_type) {
  const std::int64_t noon = 1'577'880'000'000'000;  // 2020-01-01T12:00
  const ValueCase cases[] = {
      {"2147483647", Type(TypeKind::kInt), in(std::int32_t{2147483647})},
      {"2147483648", Type(TypeKind::kInt), kOver},
      {"-2147483648", Type(TypeKind::kInt), in(std::int32_t{-2147483647 - 1})},
      {"-2147483649", Type(TypeKind::kInt), kUnder},
      {"9223372036854775808", Type(TypeKind::kLong), kOver},
      {"1.0", Type(TypeKind::kLong), std::nullopt},
      {"true", Type(TypeKind::kInt), std::nullopt},
      {"1", Type(TypeKind::kBoolean), std::nullopt},
      {"1", Type(TypeKind::kString), std::nullopt},
      {"1", Type(TypeKind::kFloat), in(1.0F)},
      {"1e39", Type(TypeKind::kFloat), kOver},
      {"-1e39", Type(TypeKind::kFloat), kUnder},
      {R"("-Infinity")", Type(TypeKind::kDouble), in(-std::numeric_limits<double>::infinity())},
      {R"("NaN")", Type(TypeKind::kFloat), std::nullopt},
      {R"("2020-01-01")", Type(TypeKind::kDate), in(std::int32_t{18262})},
      {"18262", Type(TypeKind::kDate), in(std::int32_t{18262})},
      {R"("2020-01-01T12:00:00")", Type(TypeKind::kDate), std::nullopt},
      {R"("2020-01-01T12:00:00")", Type(TypeKind::kTimestamp), in(noon)},
      {R"("2020-01-01T12:00")", Type(TypeKind::kTimestamp), in(noon)},
      {"1577880000000000", Type(TypeKind::kTimestamp), in(noon)},
      {"1577880000000000", Type(TypeKind::kTimestampNs), in(noon * 1000)},
      {"9223372036854775807", Type(TypeKind::kTimestampNs), kOver},
      {R"("2020-01-01T12:00:00+00:00")", Type(TypeKind::kTimestamp), std::nullopt},
      {R"("2020-01-01T12:00:00")", Type(TypeKind::kTimestamptz), in(noon)},
      {R"("2020-01-01")", Type(TypeKind::kTimestamptz), std::nullopt},
      {R"("2020-01-01T12:00:00+2")", Type(TypeKind::kTimestamptz), std::nullopt},
      {R"("2020-01-01T12:00:00Z")", Type(TypeKind::kTimestamptz), in(noon)},
      {R"("2020-01-01T14:30:00+02:30")", Type(TypeKind::kTimestamptz), in(noon)},
      {R"("2020-01-01T10:00:00-02:00")", Type(TypeKind::kTimestamptzNs), in(noon * 1000)},
      {R"("2020-01-01T10:00:00-02:60")", Type(TypeKind::kTimestamptz), std::nullopt},
      {R"("00:00:01")", Type(TypeKind::kTime), in(std::int64_t{1'000'000})},
      {"1000000", Type(TypeKind::kTime), in(std::int64_t{1'000'000})},
      {R"("1.10")", Type::decimal(4, 2), in(model::Decimal{110})},
      {R"("1.1")", Type::decimal(4, 2), in(model::Decimal{110})},
      {R"("1.1000")", Type::decimal(4, 2), in(model::Decimal{110})},
      {R"("1.101")", Type::decimal(4, 2), std::nullopt},
      {"5", Type::decimal(4, 2), in(model::Decimal{500})},
      {"1.25", Type::decimal(4, 2), in(model::Decimal{125})},
      {R"("100.00")", Type::decimal(4, 2), kOver},
      {R"("-100")", Type::decimal(4, 2), kUnder},
      {R"("7")", Type::decimal(4, 0), in(model::Decimal{7})},
      {R"("FF00")", Type(TypeKind::kBinary), in(model::Bytes{std::string("\xff\0", 2)})},
      {R"("FF")", Type::fixed(2), std::nullopt},
      {R"("x")", Type(TypeKind::kUuid), std::nullopt},
      {"1", Type(TypeKind::kVariant), std::nullopt},
  };
  for (const ValueCase& c : cases) {
    SCOPED_TRACE(fmt::format("{} as {}", c.json, c.type.to_string()));
    auto read = value_from_json(json_of(c.json), c.type);
    ASSERT_EQ(read.has_value(), c.read.has_value());
    if (!read) continue;
    EXPECT_EQ(read->place, c.read->place);
    EXPECT_EQ(read->value, c.read->value);
  }
}

TEST(ScanRequest, refuses_a_scan_of_a_point_and_a_range_and_a_range_with_one_end) {
  auto read = [](std::string_view text) { return scan_request_from_json(json_of(text)); };
  EXPECT_TRUE(read("{}"));
  EXPECT_TRUE(read(R"({"snapshot-id":1,"select":["a"],"stats-fields":[],"case-sensitive":false,
                       "use-snapshot-schema":true,"min-rows-requested":0})"));
  EXPECT_TRUE(read(R"({"start-snapshot-id":1,"end-snapshot-id":2})"));
  const Refused cases[] = {
      {"[]", ""},
      {R"({"snapshot-id":"1"})", "snapshot-id: "},
      {R"({"start-snapshot-id":1})", "end-snapshot-id: "},
      {R"({"end-snapshot-id":1})", "start-snapshot-id: "},
      {R"({"snapshot-id":1,"start-snapshot-id":1,"end-snapshot-id":2})", "snapshot-id: "},
      {R"({"select":"a"})", "select: "},
      {R"({"stats-fields":[1]})", "stats-fields[0]: "},
      {R"({"case-sensitive":1})", "case-sensitive: "},
      {R"({"min-rows-requested":-1})", "min-rows-requested: "},
      {R"({"filter":{"type":"x"}})", "filter.type: "},
  };
  for (const Refused& c : cases) {
    auto request = read(c.text);
    ASSERT_FALSE(request) << c.text;
    EXPECT_EQ(request.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(request.error().message(), StartsWith(c.path)) << c.text;
  }
}

}  // namespace
}  // namespace lake::scan

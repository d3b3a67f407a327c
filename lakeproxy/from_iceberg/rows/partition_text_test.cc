#include "lakeproxy/from_iceberg/rows/partition_text.h"

#include <gtest/gtest.h>

#include "lakeproxy/mapping/transform_text.h"

namespace lake::ducklake {
namespace {

using model::Literal;
using model::TransformKind;
using model::Type;
using model::TypeKind;

model::TableMetadata table_of(Type type, model::Transform transform = {}) {
  model::TableMetadata table;
  table.schemas = {{.fields = {{.id = 1, .name = "v", .type = std::move(type)}}}};
  table.partition_specs = {{.fields = {{1, 1000, "p", std::move(transform)}}}};
  return table;
}

TEST(PartitionText, says_calendar_parts_where_iceberg_counts_from_1970) {
  const Type date(TypeKind::kDate), time(TypeKind::kTimestamp), string(TypeKind::kString);
  struct {
    const char* name;
    Type type;
    TransformKind kind;
    std::optional<Literal> value;
    std::optional<std::string> text;
  } cases[] = {
      {"null", date, TransformKind::kYear, std::nullopt, std::nullopt},
      {"year", date, TransformKind::kYear, std::int32_t{54}, "2024"},
      {"year_before", date, TransformKind::kYear, std::int32_t{-1}, "1969"},
      {"january", date, TransformKind::kMonth, std::int32_t{648}, "1"},
      {"december_before", date, TransformKind::kMonth, std::int32_t{-1}, "12"},
      {"day", date, TransformKind::kDay, std::int32_t{19782}, "29"},
      {"day_before", date, TransformKind::kDay, std::int32_t{-1}, "31"},
      {"hour", time, TransformKind::kHour, std::int32_t{25}, "1"},
      {"hour_before", time, TransformKind::kHour, std::int32_t{-1}, "23"},
      {"bucket", string, TransformKind::kBucket, std::int32_t{3}, "3"},
      {"identity_date", date, TransformKind::kIdentity, std::int32_t{0}, "1970-01-01"},
      {"identity_text", string, TransformKind::kIdentity, std::string("a'b"), "a'b"},
  };
  for (const auto& c : cases) {
    auto table = table_of(c.type, {c.kind});
    const auto& field = table.partition_specs[0].fields[0];
    EXPECT_EQ(lake_partition_text(field, c.value, table, TimeNumber::kCalendarPart), c.text)
        << c.name;
    if (!c.value || c.kind == TransformKind::kIdentity) continue;
    EXPECT_EQ(lake_partition_text(field, c.value, table, TimeNumber::kSince1970),
              std::to_string(std::get<std::int32_t>(*c.value)))
        << c.name;
  }
}

TEST(PartitionText, checks_the_values_of_a_clients_manifest) {
  const Type integer(TypeKind::kLong), string(TypeKind::kString), date(TypeKind::kDate);
  struct {
    const char* name;
    Type type;
    TransformKind kind;
    model::PartitionTuple tuple;
    const char* json;  ///< Null: refused.
  } cases[] = {
      {"null", integer, TransformKind::kIdentity, {std::nullopt}, "[null]"},
      {"long", integer, TransformKind::kIdentity, {std::int64_t{5}}, "[5]"},
      {"int_before_it_was_widened", integer, TransformKind::kIdentity, {std::int32_t{5}}, "[5]"},
      {"text", string, TransformKind::kIdentity, {std::string("x")}, "[\"x\"]"},
      {"text_for_a_number", integer, TransformKind::kIdentity, {std::string("5")}, nullptr},
      {"text_for_a_month", date, TransformKind::kMonth, {std::string("5")}, nullptr},
      {"too_few", integer, TransformKind::kIdentity, {}, nullptr},
      {"too_many", integer, TransformKind::kIdentity, {std::nullopt, std::nullopt}, nullptr},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto table = table_of(c.type, {c.kind});
    auto checked = check_partition(table.partition_specs[0], c.tuple, table);
    ASSERT_EQ(checked.has_value(), c.json != nullptr);
    if (checked) {
      EXPECT_EQ(to_json(*checked), c.json);
    } else {
      EXPECT_EQ(checked.error().kind(), base::ErrorKind::kInvalid);
    }
  }
}

TEST(PartitionText, refuses_a_field_whose_source_is_gone) {
  auto table = table_of(Type(TypeKind::kLong));
  table.partition_specs[0].fields[0].source_id = 9;
  auto checked = check_partition(table.partition_specs[0], {std::nullopt}, table);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind(), base::ErrorKind::kInvalid);
}

TEST(LakeTransform, is_named_as_ducklake_names_it) {
  struct {
    model::Transform transform;
    std::optional<std::string> name;
  } cases[] = {
      {{TransformKind::kIdentity}, "identity"},
      {{TransformKind::kBucket, 16}, "bucket(16)"},
      {{TransformKind::kYear}, "year"},
      {{TransformKind::kMonth}, "month"},
      {{TransformKind::kDay}, "day"},
      {{TransformKind::kHour}, "hour"},
      {{TransformKind::kTruncate, 4}, std::nullopt},
      {{TransformKind::kVoid}, std::nullopt},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(lake_transform(c.transform, model::LakeFormat::k0_4), c.name);
    EXPECT_EQ(lake_transform(c.transform, model::LakeFormat::k1_0), c.name);
    const auto name = lake_transform(c.transform, model::LakeFormat::k1_1);
    const bool counts = c.name && !c.name->starts_with("bucket") && c.name != "identity";
    EXPECT_EQ(name, counts ? "epoch_" + *c.name : c.name);
    if (!name) continue;
    EXPECT_EQ(is_ordinal(*name), counts);
    EXPECT_FALSE(is_ordinal(*c.name));
    EXPECT_EQ(iceberg_transform(*name), c.transform);
    EXPECT_EQ(iceberg_transform(*c.name), c.transform);
  }
  for (const char* unknown : {"epoch_identity", "epoch_bucket(4)", "epoch_", "epoch_epoch_day",
                              "epoch_truncate(4)", "EPOCH_DAY"}) {
    EXPECT_EQ(iceberg_transform(unknown), std::nullopt) << unknown;
  }
}

}  // namespace
}  // namespace lake::ducklake

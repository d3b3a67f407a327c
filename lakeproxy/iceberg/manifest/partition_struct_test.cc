#include "lakeproxy/iceberg/manifest/partition_struct.h"

#include <gtest/gtest.h>

#include "base/avro/schema.h"
#include "lakeproxy/iceberg/manifest/sample_manifest.h"

namespace lake::materialize {
namespace {

TEST(AvroNameTest, keeps_what_avro_takes_and_replaces_the_rest) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"name", "name"},
      {"_9", "_9"},
      {"9a9", "_9a9"},
      {"a b", "a_x20b"},
      {" ", "_x20"},
      {"a.b-c", "a_x2Eb_x2Dc"},
      {"\xC3\xB6", "_xF6"},
      {"\xE2\x82\xAC", "_x20AC"},
      {"\xF0\x9F\x98\x80", "_xD83D_xDE00"},
      {"", "_"},
      {"a\"b", "a_x22b"},
  };
  for (const auto& [name, wanted] : cases) EXPECT_EQ(avro_name(name), wanted);
}

TEST(PartitionRecordTest, has_the_types_of_the_transforms_results) {
  auto columns = partition_columns(sample_schema(), sample_spec());
  ASSERT_TRUE(columns) << columns.error().message();
  auto schema = base::avro::Schema::parse(partition_record_type(*columns));
  ASSERT_TRUE(schema) << schema.error().message();
  const auto& fields = schema->root().fields;
  ASSERT_EQ(fields.size(), 14U);
  using base::avro::Type;
  const std::pair<Type, std::string_view> wanted[] = {{Type::kInt, ""},
                                                      {Type::kString, ""},
                                                      {Type::kInt, "date"},
                                                      {Type::kInt, ""},
                                                      {Type::kFixed, "decimal"},
                                                      {Type::kFixed, "uuid"},
                                                      {Type::kBytes, ""},
                                                      {Type::kBytes, ""},
                                                      {Type::kBoolean, ""},
                                                      {Type::kDouble, ""},
                                                      {Type::kInt, ""},
                                                      {Type::kLong, "time-micros"},
                                                      {Type::kLong, "timestamp-micros"},
                                                      {Type::kFloat, ""}};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const base::avro::Node& type = without_null(*fields[i].type);
    EXPECT_EQ(type.type, wanted[i].first) << i;
    EXPECT_EQ(type.logical_type, wanted[i].second) << i;
    EXPECT_EQ(base::avro::int_attribute(fields[i].attributes, "field-id"),
              1000 + static_cast<int>(i));
  }
  EXPECT_EQ(without_null(*fields[4].type).size, 4U);
  EXPECT_TRUE(without_null(*fields[12].type).attributes.at("adjust-to-utc").as_bool());
  EXPECT_EQ(fields[12].name, "_1st_x20ts");
  EXPECT_EQ(fields[12].attributes.at("iceberg-field-name").as_string(), "1st ts");
}

TEST(PartitionRecordTest, a_decimal_has_as_many_bytes_as_its_precision_needs) {
  const std::pair<int, std::size_t> cases[] = {{1, 1},  {2, 1},  {3, 2},  {4, 2},  {9, 4},
                                               {10, 5}, {18, 8}, {19, 9}, {38, 16}};
  for (const auto& [precision, bytes] : cases) {
    const std::vector<PartitionColumn> columns{{1000, "d", model::Type::decimal(precision, 0)}};
    auto schema = base::avro::Schema::parse(partition_record_type(columns));
    ASSERT_TRUE(schema);
    EXPECT_EQ(without_null(*schema->root().fields[0].type).size, bytes) << precision;
  }
}

}  // namespace
}  // namespace lake::materialize

#include "lakeproxy/iceberg/schema/partition_spec.h"

#include <gtest/gtest.h>

namespace lake::model {
namespace {

TEST(TransformTest, reads_and_writes_each_name) {
  const std::vector<std::pair<std::string, TransformKind>> cases = {
      {"identity", TransformKind::kIdentity},
      {"bucket[1]", TransformKind::kBucket},
      {"bucket[2147483647]", TransformKind::kBucket},
      {"truncate[1]", TransformKind::kTruncate},
      {"year", TransformKind::kYear},
      {"month", TransformKind::kMonth},
      {"day", TransformKind::kDay},
      {"hour", TransformKind::kHour},
      {"void", TransformKind::kVoid}};
  for (const auto& [text, kind] : cases) {
    EXPECT_EQ(parse_transform(text).kind, kind) << text;
    EXPECT_EQ(to_string(parse_transform(text)), text);
  }
  EXPECT_EQ(parse_transform("bucket[16]").parameter, 16);
  EXPECT_EQ(parse_transform("BUCKET[16]"), parse_transform("bucket[16]"));
}

TEST(TransformTest, keeps_the_text_of_what_it_does_not_know) {
  for (const std::string text :
       {"zorder", "bucket", "bucket[]", "bucket[0]", "bucket[-1]", "bucket[2147483648]",
        "truncate[x]", "bucket[1", "bucket[1] ", "", "bucket16]", "Z[1]"}) {
    EXPECT_EQ(parse_transform(text).kind, TransformKind::kUnknown) << text;
    EXPECT_EQ(to_string(parse_transform(text)), text);
  }
}

struct Applies {
  const char* type;
  const char* transforms;  ///< One letter each: i b t y m d h.
};

TEST(TransformTest, applies_to_the_types_of_the_specification) {
  const std::vector<Applies> cases = {{"boolean", "i"},
                                      {"int", "ibt"},
                                      {"long", "ibt"},
                                      {"float", "i"},
                                      {"double", "i"},
                                      {"decimal(9, 2)", "ibt"},
                                      {"date", "ibymd"},
                                      {"time", "ib"},
                                      {"timestamp", "ibymdh"},
                                      {"timestamptz", "ibymdh"},
                                      {"timestamp_ns", "ibymdh"},
                                      {"timestamptz_ns", "ibymdh"},
                                      {"string", "ibt"},
                                      {"uuid", "ib"},
                                      {"fixed[4]", "ib"},
                                      {"binary", "ibt"},
                                      {"variant", ""},
                                      {"geometry", ""},
                                      {"geography", ""}};
  const std::vector<std::pair<char, std::string>> transforms = {
      {'i', "identity"}, {'b', "bucket[4]"}, {'t', "truncate[4]"}, {'y', "year"},
      {'m', "month"},    {'d', "day"},       {'h', "hour"}};
  for (const Applies& each : cases) {
    const Type type = parse_primitive_type(each.type).value();
    for (const auto& [letter, text] : transforms) {
      const bool expected =
          std::string_view(each.transforms).find(letter) != std::string_view::npos;
      EXPECT_EQ(can_transform(parse_transform(text), type), expected) << text << " " << each.type;
    }
    EXPECT_TRUE(can_transform(parse_transform("void"), type));
    EXPECT_FALSE(can_transform(parse_transform("zorder"), type));
  }
  EXPECT_FALSE(can_transform(parse_transform("identity"), Type::structure({})));
}

TEST(TransformTest, keeps_values_of_a_column_that_was_widened) {
  struct Change {
    const char* from;
    const char* to;
    const char* keep;  ///< Letters of the transforms that give the same values.
  };
  const std::vector<std::pair<char, std::string>> transforms = {
      {'i', "identity"}, {'b', "bucket[4]"}, {'t', "truncate[4]"}, {'y', "year"},
      {'m', "month"},    {'d', "day"},       {'h', "hour"},        {'v', "void"}};
  const std::vector<Change> changes = {{"int", "int", "ibtymdhv"},
                                       {"int", "long", "ibtv"},
                                       {"float", "double", "ibtv"},
                                       {"decimal(9, 2)", "decimal(12, 2)", "ibtv"},
                                       {"decimal(9, 2)", "decimal(18, 4)", "v"},
                                       {"decimal(9, 2)", "decimal(8, 2)", "v"},
                                       {"long", "int", "v"},
                                       {"int", "double", "v"},
                                       {"int", "decimal(12, 2)", "v"},
                                       {"date", "timestamp", "ymdv"},
                                       {"timestamp", "timestamp_ns", "ymdv"},
                                       {"timestamp", "timestamptz", "v"},
                                       {"date", "timestamptz", "v"}};
  for (const Change& each : changes) {
    const Type from = parse_primitive_type(each.from).value();
    const Type to = parse_primitive_type(each.to).value();
    for (const auto& [letter, text] : transforms) {
      const bool expected = std::string_view(each.keep).find(letter) != std::string_view::npos;
      EXPECT_EQ(keeps_values(parse_transform(text), from, to), expected)
          << text << " " << each.from << " " << each.to;
    }
  }
}

TEST(TransformTest, results_have_the_types_of_the_specification) {
  const Type timestamp(TypeKind::kTimestamp);
  for (const std::string text : {"bucket[4]", "year", "month", "hour"}) {
    EXPECT_EQ(result_type(parse_transform(text), timestamp), Type(TypeKind::kInt)) << text;
  }
  EXPECT_EQ(result_type(parse_transform("day"), timestamp), Type(TypeKind::kDate));
  for (const std::string text : {"identity", "truncate[2]", "void"}) {
    EXPECT_EQ(result_type(parse_transform(text), timestamp), timestamp) << text;
  }
}

TEST(PartitionSpecTest, compatible_looks_past_ids_and_at_the_rest) {
  const PartitionSpec spec{.spec_id = 1,
                           .fields = {{1, 1000, "a", parse_transform("identity")},
                                      {2, 1001, "b", parse_transform("bucket[4]")}}};
  PartitionSpec same = spec;
  same.spec_id = 2;
  same.fields[0].field_id = 1007;
  EXPECT_TRUE(spec.compatible_with(same));
  PartitionSpec swapped = spec;
  std::swap(swapped.fields[0], swapped.fields[1]);
  EXPECT_FALSE(spec.compatible_with(swapped));
  PartitionSpec renamed = spec;
  renamed.fields[1].name = "c";
  EXPECT_FALSE(spec.compatible_with(renamed));
  PartitionSpec other_width = spec;
  other_width.fields[1].transform.parameter = 8;
  EXPECT_FALSE(spec.compatible_with(other_width));
  EXPECT_FALSE(spec.compatible_with(PartitionSpec{}));
  EXPECT_TRUE(PartitionSpec{}.is_unpartitioned());
}

}  // namespace
}  // namespace lake::model

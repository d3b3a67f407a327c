#include "lakeproxy/model/identifier.h"

#include <gtest/gtest.h>

#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/metadata/snapshot.h"

namespace lake::model {
namespace {

using Levels = std::vector<std::string>;

TEST(NamespaceTest, levels_are_split_at_the_unit_separator) {
  EXPECT_EQ(parse_namespace("a")->levels, Levels{"a"});
  EXPECT_EQ(parse_namespace("a\x1f"
                            "b.c")
                ->levels,
            (Levels{"a", "b.c"}));
  EXPECT_EQ(make_namespace({"a", "b"})->display(), "a.b");
  EXPECT_EQ((TableIdentifier{*make_namespace({"a", "b"}), "t"}).display(), "a.b.t");
}

TEST(NamespaceTest, bounds_are_kept_at_both_ends) {
  EXPECT_TRUE(make_namespace(Levels(16, "x")));
  EXPECT_TRUE(make_namespace({std::string(255, 'x')}));
  std::string many = "x";
  for (int i = 0; i < 100'000; ++i) many += "\x1fx";
  const std::vector<std::pair<std::string, base::Result<Namespace>>> cases = {
      {"no level", make_namespace({})},
      {"empty level", make_namespace({"a", ""})},
      {"17 levels", make_namespace(Levels(17, "x"))},
      {"256 bytes", make_namespace({std::string(256, 'x')})},
      {"not UTF-8", make_namespace({"\xc0\xaf"})},
      {"control", make_namespace({"a\nb"})},
      {"delete", make_namespace({"a\x7f"})},
      {"separator in a level", make_namespace({"a\x1f"})},
      {"empty text", parse_namespace("")},
      {"trailing separator", parse_namespace("a\x1f")},
      {"very many", parse_namespace(many)},
  };
  for (const auto& [name, result] : cases) {
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.error().kind(), base::ErrorKind::kInvalid) << name;
  }
}

TEST(NewNameTest, reserved_and_broken_names_are_refused) {
  for (const std::string name : {"t", "mask_t", "_mask_", "x__mask_", "t\xc3\xa4", "a.b"}) {
    EXPECT_TRUE(validate_new_name(name)) << name;
  }
  EXPECT_TRUE(validate_new_name(std::string(255, 't')));
  for (const std::string name :
       {"", "__mask_", "__mask_t", "__MASK_t", "__Mask_t", "a\tb", "\xff"}) {
    const auto status = validate_new_name(name);
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().kind(), base::ErrorKind::kInvalid) << name;
  }
  EXPECT_FALSE(validate_new_name(std::string(256, 't')));
}

TEST(NamesTest, formats_and_operations_read_back) {
  for (const auto format :
       {FileFormat::kParquet, FileFormat::kAvro, FileFormat::kOrc, FileFormat::kPuffin}) {
    EXPECT_EQ(parse_file_format(to_string(format)), format);
  }
  EXPECT_EQ(parse_file_format("parquet"), FileFormat::kParquet);
  EXPECT_EQ(parse_file_format("csv"), std::nullopt);
  EXPECT_EQ(parse_file_format(""), std::nullopt);
  for (const auto operation :
       {Operation::kAppend, Operation::kReplace, Operation::kOverwrite, Operation::kDelete}) {
    EXPECT_EQ(parse_operation(to_string(operation)), operation);
  }
  EXPECT_EQ(parse_operation("APPEND"), std::nullopt);
}

}  // namespace
}  // namespace lake::model

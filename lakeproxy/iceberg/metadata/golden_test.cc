// What we write is, byte for byte, what the reference implementation writes;
// tests/golden/metadata/README.md tells how its files were made.

#include "base/testing/golden.h"

#include <gtest/gtest.h>

#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/table_metadata_json.h"
#include "lakeproxy/iceberg/schema/literal_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::model {
namespace {

using base::json::Fields;
using base::json::Value;

std::string golden(const std::string& name) {
  return base::testing::read_golden("metadata/" + name);
}

Value parsed(const std::string& text) {
  auto value = base::json::parse(text);
  if (!value) ADD_FAILURE() << value.error().message();
  return value.value_or(Value());
}

/// Lines of a file with two columns.
std::vector<std::pair<std::string, std::string>> rows(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> out;
  const std::string text = golden(name);
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    const auto tab = text.find('\t', at);
    out.emplace_back(text.substr(at, tab - at), text.substr(tab + 1, end - tab - 1));
    at = end + 1;
  }
  return out;
}

class MetadataGolden : public ::testing::TestWithParam<const char*> {};

// Row lineage is also told by the names that drafts of version 3 had.
std::string without_draft_members(std::string text) {
  const auto first = text.find(R"("last-row-id":)");
  if (first == std::string::npos) return text;
  constexpr std::string_view kLast = R"("row-lineage":true,)";
  return text.erase(first, text.find(kLast) + kLast.size() - first);
}

TEST_P(MetadataGolden, is_written_as_the_reference_writes_it) {
  for (const std::string folder : {"", "input/"}) {
    const auto table = table_metadata_from_json(parsed(golden(folder + GetParam())));
    ASSERT_TRUE(table) << table.error().message();
    EXPECT_EQ(without_draft_members(write_metadata(*table)), golden(GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, MetadataGolden,
                         ::testing::Values("v2_empty.json", "v2_full.json", "v3_empty.json",
                                           "v3_full.json", "v3_java_only.json"));

TEST(GoldenTest, version_1_is_read_as_the_version_2_it_becomes) {
  const auto old = table_metadata_from_json(parsed(golden("input/v1_old.json")));
  ASSERT_TRUE(old) << old.error().message();
  const auto complete = table_metadata_from_json(parsed(golden("v1_old.json")));
  ASSERT_TRUE(complete) << complete.error().message();
  EXPECT_EQ(old->format_version, 2);
  EXPECT_EQ(old->location, "s3://lake/one");
  EXPECT_EQ(old->last_partition_id, 1001);
  EXPECT_EQ(old->current_snapshot_id, std::nullopt);
  EXPECT_EQ(write_metadata(*old), write_metadata(*complete));
}

TEST(GoldenTest, fresh_ids_are_the_references) {
  const Value given = parsed(golden("input/fresh_ids.schema"));
  const auto schema = schema_from_json(Fields::of(given, "").value());
  ASSERT_TRUE(schema) << schema.error().message();
  EXPECT_EQ(base::json::write(to_json(with_fresh_ids(*schema))), golden("fresh_ids.schema"));
}

// The reference takes a scale above the precision, a precision of 0 and a
// fixed of no bytes; no value has these types, and we refuse them.
bool is_empty_type(std::string_view text) {
  return text == "decimal(2, 3)" || text == "decimal(0, 0)" || text == "fixed[0]";
}

TEST(GoldenTest, type_names_are_read_and_written_as_by_the_reference) {
  for (const auto& [given, expected] : rows("types.tsv")) {
    const auto type = parse_primitive_type(given);
    if (expected.starts_with('!') || is_empty_type(given)) {
      ASSERT_FALSE(type) << given;
      EXPECT_EQ(type.error().kind(), base::ErrorKind::kInvalid) << given;
      continue;
    }
    ASSERT_TRUE(type) << given << ": " << type.error().message();
    EXPECT_EQ(type->to_string(), expected) << given;
  }
}

TEST(GoldenTest, single_values_are_read_and_written_as_by_the_reference) {
  for (const auto& [type_name, json] : rows("literals.tsv")) {
    const auto type = parse_primitive_type(type_name);
    ASSERT_TRUE(type) << type_name;
    const auto literal = literal_from_json(parsed(json), *type, "value");
    ASSERT_TRUE(literal) << type_name << " " << json << ": " << literal.error().message();
    const Value written = to_json(*literal, *type);
    // 4.9E-324 and 5e-324 are one double: floating numbers have to read back the same.
    if (written.is_double()) {
      EXPECT_EQ(literal_from_json(written, *type, "value").value(), *literal) << json;
    } else {
      EXPECT_EQ(base::json::write(written), json) << type_name;
    }
  }
}

}  // namespace
}  // namespace lake::model

#include "lakeproxy/operation/masking_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::operation {
namespace {

using model::Type;
using model::TypeKind;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const model::TableIdentifier kTable{{{"hr"}}, R"(a "t" `x`)"};

publish::LoadedTablePtr loaded(std::string uuid_byte = "a") {
  model::LakeTable table;
  table.name = kTable.name;
  table.metadata.location = "s3://b/t";
  table.metadata.table_uuid.front() = static_cast<std::uint8_t>(uuid_byte.front());
  model::Field ssn{.id = 2, .name = "ssn", .type = Type(TypeKind::kString)};
  ssn.required = true;
  table.metadata.schemas = {
      {.fields = {{.id = 1, .name = R"(i"d)", .type = Type(TypeKind::kLong)}, ssn}}};
  table.metadata.partition_specs = {{}};
  table.metadata.sort_orders = {{}};
  return publish::make_loaded_table(std::move(table), nullptr);
}

policy::MaskPlan plan_of(std::string mask, std::vector<std::string> filters = {}) {
  policy::MaskPlan plan{.signature = "0f"};
  plan.masks.push_back(
      {.field = 2, .column = "ssn", .expression = std::move(mask), .policy = "hide"});
  for (std::string& filter : filters) {
    plan.filters.push_back({.policy = "rows", .predicate = std::move(filter)});
  }
  return plan;
}

model::ViewMetadata view_of(const policy::MaskPlan& plan, std::string uuid_byte = "a") {
  return masking_view(*loaded(std::move(uuid_byte)), kTable, plan);
}

std::map<std::string, std::string> queries(const model::ViewMetadata& view) {
  std::map<std::string, std::string> found;
  for (const auto& one : view.versions.at(0).representations) found[one.dialect] = one.sql;
  return found;
}

TEST(MaskingView, selects_the_rows_that_are_left_through_the_masks_in_each_dialect) {
  const auto view = view_of(plan_of(R"("left"("ssn", 1))", {R"("ssn" = 'a')", R"("i""d" < 9)"}));
  EXPECT_EQ(queries(view).at("duckdb"),
            R"(SELECT "i""d", "left"("ssn", 1) AS "ssn" FROM "hr"."a ""t"" `x`" )"
            R"(WHERE ("ssn" = 'a') AND ("i""d" < 9))");
  EXPECT_EQ(queries(view).at("spark"),
            R"(SELECT `i"d`, left(`ssn`, 1) AS `ssn` FROM `a "t" ``x``` )"
            R"(WHERE (`ssn` = 'a') AND (`i"d` < 9))");
  EXPECT_EQ(view.versions[0].default_namespace, std::vector<std::string>{"hr"});
}

TEST(MaskingView, has_no_query_for_spark_where_any_part_may_mean_something_else_there) {
  EXPECT_TRUE(queries(view_of(plan_of("'*'"))).contains("spark"));
  EXPECT_FALSE(queries(view_of(plan_of(R"(md5("ssn"))"))).contains("spark"));
  EXPECT_FALSE(queries(view_of(plan_of("'*'", {R"("i""d" / 2 = 1)"}))).contains("spark"));
  EXPECT_FALSE(queries(view_of(plan_of("'${spark.app.name}'"))).contains("spark"));
  EXPECT_TRUE(queries(view_of(plan_of(R"(md5("ssn"))"))).contains("duckdb"));
}

TEST(MaskingView, is_the_same_for_the_same_plan_and_lies_in_the_servers_folder) {
  const auto first = view_of(plan_of("'*'"));
  EXPECT_EQ(first, view_of(plan_of("'*'")));
  EXPECT_NE(first.view_uuid, view_of(plan_of("'*'"), "b").view_uuid) << "of another table";
  EXPECT_EQ(first.view_uuid[6] >> 4, 8);
  EXPECT_THAT(first.location, StartsWith("s3://b/t/"));
  EXPECT_THAT(first.location, HasSubstr("/masking_views/0f"));
}

TEST(MaskingView, says_of_a_masked_column_that_it_is_and_that_it_may_be_null) {
  const auto fields = view_of(plan_of("'*'")).schemas.at(0).fields;
  EXPECT_FALSE(fields[1].required);
  EXPECT_EQ(fields[1].doc, "masked by policy hide");
  EXPECT_EQ(fields[0].doc, std::nullopt);
}

}  // namespace
}  // namespace lake::operation

#include "lakeproxy/views/view_text.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using Names = std::vector<std::string>;

TEST(ViewText, lists_of_names_come_back) {
  for (const Names& names : {Names{}, Names{"a"}, Names{"x", "y y"}, Names{"say \"hi\"", ",", ""},
                             Names{"\"", "\"\""}}) {
    EXPECT_EQ(parse_quoted_list(quoted_list(names)), names);
  }
  EXPECT_EQ(quoted_list({"x", "y \"y"}), R"("x","y ""y")");
  EXPECT_EQ(quoted_list({}), "");
}

TEST(ViewText, what_is_no_list_is_nothing) {
  for (const char* text : {"a", "\"a", "\"a\"b", "\"a\",", "(\"a\")", "\"a\"\""}) {
    EXPECT_EQ(parse_quoted_list(text), std::nullopt) << text;
  }
}

TEST(ViewText, the_catalogs_mark_is_replaced_outside_of_quotes) {
  EXPECT_EQ(with_catalog("SELECT a FROM {DUCKLAKE_CATALOG}.main.t", "lake"),
            "SELECT a FROM lake.main.t");
  EXPECT_EQ(with_catalog("FROM {DUCKLAKE_CATALOG}.t", "my \"lake\""), R"(FROM "my ""lake""".t)");
  for (const char* same :
       {"SELECT '{DUCKLAKE_CATALOG}.'", "SELECT \"{DUCKLAKE_CATALOG}.\"",
        "SELECT 'it''s {DUCKLAKE_CATALOG}.'", "SELECT '{DUCKLAKE_CATALOG}.", "", "{DUCKLAKE"}) {
    EXPECT_EQ(with_catalog(same, "lake"), same);
  }
  EXPECT_EQ(with_catalog("SELECT '' FROM {DUCKLAKE_CATALOG}.t WHERE a = ''", "lake"),
            "SELECT '' FROM lake.t WHERE a = ''");
}

model::ViewMetadata view_with(std::vector<model::SqlRepresentation> representations) {
  model::ViewMetadata view;
  model::Schema schema;
  schema.fields = {{.id = 1, .name = "a", .type = model::Type(model::TypeKind::kLong)},
                   {.id = 2, .name = "b c", .type = model::Type(model::TypeKind::kLong)}};
  view.schemas = {schema};
  model::ViewVersion version;
  version.representations = std::move(representations);
  view.versions = {version};
  view.current_version_id = version.version_id;
  return view;
}

TEST(LakeQuery, is_duckdbs_own_where_there_is_one) {
  auto query = lake_query(view_with({{"S", "spark"}, {"D", "DuckDB"}}));
  EXPECT_EQ(query, (LakeViewQuery{"duckdb", "D", R"("a","b c")"}));
}

TEST(LakeQuery, is_else_the_first) {
  auto query = lake_query(view_with({{"S", "Spark"}, {"T", "trino"}}));
  EXPECT_EQ(query, (LakeViewQuery{"Spark", "S", R"("a","b c")"}));
}

}  // namespace
}  // namespace lake::ducklake

#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/read/reader_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::Namespace;
using model::TableId;

TEST_F(Reader, lists_namespaces_level_by_level_in_pages) {
  snapshot(1, "created_schema:\"x\"",
           "INSERT INTO ducklake_schema SELECT n, gen_random_uuid(), 1, CASE name WHEN 'gone' THEN "
           "1 END, name, 'p/', true FROM unnest(ARRAY['a', 'B', 'a.b', E'a\\x1fc', E'a\\x1fd', "
           "E'a\\x1fc\\x1fe', E'bad\\nname', 'gone']) WITH ORDINALITY AS s(name, n)");
  auto lake = reader();
  auto list = [&](std::optional<Namespace> parent, PageRequest page) {
    auto found = run(lake.list_namespaces(soon(), parent, page));
    std::vector<std::string> names;
    if (!found) return names;
    for (const Namespace& name : found->items) names.push_back(name.display());
    if (found->next) names.push_back("next " + *found->next);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(list(std::nullopt, {}), (Names{"B", "a", "a.b", "main"}));
  EXPECT_EQ(list(std::nullopt, {.size = 2}), (Names{"B", "a", "next a"}));
  EXPECT_EQ(list(std::nullopt, {.size = 2, .after = "a"}), (Names{"a.b", "main"}));
  EXPECT_EQ(list(Namespace{{"a"}}, {}), (Names{"a.c", "a.d"}));
  EXPECT_EQ(list(Namespace{{"a"}}, {.after = "c"}), (Names{"a.d"}));
  EXPECT_EQ(list(Namespace{{"a", "c"}}, {}), (Names{"a.c.e"}));
  EXPECT_EQ(list(Namespace{{"B"}}, {}), Names{});
  auto missing = run(lake.list_namespaces(soon(), Namespace{{"gone"}}, {}));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(missing.error().reason(), kNoSuchNamespace);
}

TEST_F(Reader, loads_a_namespace) {
  exec("INSERT INTO lakeproxy_namespace VALUES (0, '{main}', '{\"owner\": \"me\"}')");
  auto lake = reader();
  auto found = run(lake.load_namespace(soon(), Namespace{{"main"}}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, model::NamespaceId(0));
  EXPECT_EQ(found->location, "s3://lake/data/main");
  EXPECT_EQ(found->properties, (std::map<std::string, std::string>{{"owner", "me"}}));
  auto missing = run(lake.load_namespace(soon(), Namespace{{"Main"}}));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason(), kNoSuchNamespace);
}

TEST_F(Reader, lists_and_finds_tables_that_are_shown_now) {
  make_table();
  snapshot(2, "created_table:\"main\".\"u\",created_table:\"main\".\"gone\"",
           "INSERT INTO ducklake_table VALUES (2, gen_random_uuid(), 2, NULL, 0, 'U', 'u/', true), "
           "(3, gen_random_uuid(), 2, 2, 0, 'gone', 'g/', true)");
  auto lake = reader();
  auto page = run(lake.list_tables(soon(), Namespace{{"main"}}, {.size = 1}));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 1);
  EXPECT_EQ(page->items[0], "U");
  EXPECT_EQ(page->next, "U");
  page = run(lake.list_tables(soon(), Namespace{{"main"}}, {.size = 1, .after = "U"}));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items[0], "t");
  EXPECT_FALSE(page->next);
  EXPECT_EQ(run(lake.list_tables(soon(), Namespace{{"no"}}, {})).error().reason(),
            kNoSuchNamespace);
  auto found = run(lake.find_table(soon(), {Namespace{{"main"}}, "t"}));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, TableId(1));
  for (const char* name : {"gone", "T", "none"}) {
    auto missing = run(lake.find_table(soon(), {Namespace{{"main"}}, name}));
    ASSERT_FALSE(missing) << name;
    EXPECT_EQ(missing.error().kind(), ErrorKind::kNotFound);
    EXPECT_EQ(missing.error().reason(), kNoSuchTable);
  }
  EXPECT_EQ(run(lake.load_table(soon(), TableId(3))).error().reason(), kNoSuchTable);
}

}  // namespace
}  // namespace lake::ducklake

#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/from_iceberg/write/writer_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::Namespace;

using NamespaceWriter = WriterFixture;

TEST_F(NamespaceWriter, makes_and_drops_namespaces) {
  auto lake = writer();
  ASSERT_TRUE(run(lake.create_namespace(soon(), Namespace{{"a"}}, {{"k", "v"}})));
  EXPECT_EQ(line(), "created_schema:\"a\"");
  EXPECT_EQ(head(), "(1,1,2,0)");
  ASSERT_TRUE(run(lake.create_namespace(soon(), Namespace{{"a", "q\"x"}}, {})));

  auto again = run(lake.create_namespace(soon(), Namespace{{"a"}}, {}));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kAlreadyExists);
  auto orphan = run(lake.create_namespace(soon(), Namespace{{"no", "x"}}, {}));
  ASSERT_FALSE(orphan);
  EXPECT_EQ(orphan.error().reason(), kNoSuchNamespace);
  auto missing = run(lake.drop_namespace(soon(), Namespace{{"no"}}));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason(), kNoSuchNamespace);
  auto full = run(lake.drop_namespace(soon(), Namespace{{"a"}}));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason(), kNamespaceNotEmpty);
  ASSERT_TRUE(run(lake.drop_namespace(soon(), Namespace{{"a", "q\"x"}})));
  ASSERT_TRUE(run(lake.drop_namespace(soon(), Namespace{{"a"}})));
  EXPECT_EQ(line(), "dropped_schema:1");
  EXPECT_EQ(head(), "(4,4,3,0)");
  EXPECT_TRUE(run(lake.create_namespace(soon(), Namespace{{"a"}}, {}))) << "the name is free";
}

TEST_F(NamespaceWriter, a_name_is_free_again_after_duckdb_dropped_its_schema) {
  auto lake = writer();
  for (const char* value : {"old", "new"}) {
    ASSERT_TRUE(run(lake.create_namespace(soon(), Namespace{{"a"}}, {{"k", value}}))) << value;
    auto changed = run(lake.change_namespace(soon(), Namespace{{"a"}}, {}, {{"also", value}}));
    ASSERT_TRUE(changed) << changed.error().message();
    EXPECT_EQ(ask("SELECT (properties->>'k') || (properties->>'also') FROM @lakeproxy_namespace"),
              std::string(value) + value);
    exec("UPDATE ducklake_schema SET end_snapshot = begin_snapshot + 1 WHERE schema_name = 'a'");
  }
}

TEST_F(NamespaceWriter, changes_properties_without_a_lake_snapshot) {
  auto lake = writer();
  auto changed = run(lake.change_namespace(soon(), kMain, {"x"}, {{"a", "1"}, {"b", "2"}}));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->updated, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(changed->missing, std::vector<std::string>{"x"});
  changed = run(lake.change_namespace(soon(), kMain, {"a"}, {}));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->removed, std::vector<std::string>{"a"});
  EXPECT_EQ(head(), "(0,0,1,0)");
  auto missing = run(lake.change_namespace(soon(), Namespace{{"no"}}, {}, {}));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason(), kNoSuchNamespace);
}

}  // namespace
}  // namespace lake::ducklake

#include "base/duckdb/nested_sql.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/duckdb/engine.h"
#include "base/testing/child_process.h"

namespace base::duckdb {
namespace {

class NestedSqlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Engine::open({.memory_bytes = 64 << 20,
                                .threads = 1,
                                .scratch_dir = folder.path(),
                                .scratch_bytes = 1 << 20});
    ASSERT_TRUE(opened) << opened.error().message();
    engine = std::move(*opened);
  }

  // The first column of the only row, as the engine prints it.
  std::string value_of(const std::string& sql) {
    auto connection = engine->connect();
    if (!connection) return connection.error().message();
    auto rows = connection->execute("SELECT coalesce(CAST(" + sql + " AS VARCHAR), 'none')");
    if (!rows) return rows.error().detail();
    EXPECT_TRUE(*rows->next());
    return std::string(rows->bytes(0));
  }

  testing::TemporaryFolder folder;
  std::unique_ptr<Engine> engine;
};

TEST_F(NestedSqlTest, writes_each_part_of_a_struct_again) {
  const std::string value = "{'it''s': 1, 'b': 'x'}";
  EXPECT_EQ(value_of(rebuilt_struct(value, {{"it's", struct_part(value, "it's") + " + 1"},
                                            {"a \"b\"", struct_part(value, "b")}})),
            R"({'it\'s': 2, 'a "b"': x})");
}

TEST_F(NestedSqlTest, writes_each_element_of_a_list_again) {
  EXPECT_EQ(value_of(rebuilt_list("[1, NULL, 3]", "e", "e * 10")), "[10, NULL, 30]");
}

TEST_F(NestedSqlTest, writes_keys_and_values_of_a_map_again) {
  const std::string value = "MAP {'a': 1, 'b': NULL}";
  EXPECT_EQ(
      value_of(rebuilt_map(value, "e", "upper(" + map_key("e") + ")", map_value("e") + " + 1")),
      "{A=2, B=NULL}");
}

TEST_F(NestedSqlTest, keeps_null_at_every_depth) {
  const std::string none = "CAST(NULL AS STRUCT(a INTEGER))";
  EXPECT_EQ(value_of(rebuilt_struct(none, {{"a", "1"}})), "none");
  EXPECT_EQ(value_of(rebuilt_list("CAST(NULL AS INTEGER[])", "e", "1")), "none");
  EXPECT_EQ(value_of(rebuilt_map("CAST(NULL AS MAP(VARCHAR, INTEGER))", "e", map_key("e"), "1")),
            "none");
  const std::string list = "[{'a': 1}, NULL]";
  EXPECT_EQ(value_of(rebuilt_list(list, "e", rebuilt_struct("e", {{"a", "2"}}))),
            "[{'a': 2}, NULL]");
}

}  // namespace
}  // namespace base::duckdb

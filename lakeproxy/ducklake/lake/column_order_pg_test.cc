// Migration 0018: the numbers that DuckDB gives columns become those it means.

#include "lakeproxy/ducklake/lake/lake_fixture_test.h"

namespace lake::ducklake {
namespace {

class ColumnOrder : public LakeFixture {
 protected:
  void SetUp() override { open(); }

  /// A column as DuckDB writes it: its number is its id.
  static std::string column(std::int64_t id, std::int64_t begin, const std::string& name,
                            const std::string& parent = "NULL") {
    return fmt::format("({0}, {1}, NULL, 1, {0}, '{2}', 'int32', NULL, NULL, true, {3}, '', '')",
                       id, begin, name, parent);
  }
  static std::string insert(const std::string& rows) {
    return "INSERT INTO ducklake_column VALUES " + rows + ";";
  }
  static std::string end(std::int64_t id, std::int64_t at) {
    return fmt::format(
        "UPDATE ducklake_column SET end_snapshot = {} WHERE column_id = {} AND end_snapshot IS "
        "NULL;",
        at, id);
  }
  /// Columns a, b and c; then a client moves c to the front, as our commits do.
  void moved() {
    snapshot(1, "created_table:\"main\".\"t\"",
             insert(column(1, 1, "a") + "," + column(2, 1, "b") + "," + column(3, 1, "c")));
    ASSERT_EQ(columns(), "a1 b2 c3");
    exec("BEGIN; SET LOCAL lakeproxy.publishes = 'on';" + end(1, 2) + end(2, 2) +
         "INSERT INTO ducklake_column VALUES (1, 2, NULL, 1, 4, 'a', 'int32', NULL, NULL, true, "
         "NULL, '', ''), (2, 2, NULL, 1, 5, 'b', 'int32', NULL, NULL, true, NULL, '', ''); COMMIT");
    ASSERT_EQ(columns(), "c3 a4 b5");
  }
  std::string columns(const std::string& parent = "IS NULL") {
    return ask(
        "SELECT string_agg(column_name || column_order, ' ' ORDER BY column_order) FROM "
        "@ducklake_column WHERE table_id = 1 AND end_snapshot IS NULL AND parent_column " +
        parent);
  }
};

TEST_F(ColumnOrder, what_duckdb_changes_stays_in_its_place) {
  moved();
  snapshot(3, "altered_table:1", end(1, 3) + insert(column(1, 3, "x")));
  EXPECT_EQ(columns(), "c3 x4 b5");
  // And again: the place is that of the newest row, not of the first.
  snapshot(4, "altered_table:1",
           end(1, 4) + end(2, 4) + insert(column(2, 4, "y") + "," + column(1, 4, "z")));
  EXPECT_EQ(columns(), "c3 z4 y5");
}

TEST_F(ColumnOrder, what_duckdb_adds_comes_last) {
  moved();
  snapshot(3, "altered_table:1", insert(column(4, 3, "d") + "," + column(5, 3, "e")));
  EXPECT_EQ(columns(), "c3 a4 b5 d6 e7");
  snapshot(4, "altered_table:1", end(5, 4) + insert(column(9, 4, "f")));
  EXPECT_EQ(columns(), "c3 a4 b5 d6 f9");
}

TEST_F(ColumnOrder, one_change_and_one_addition_in_one_commit) {
  moved();
  snapshot(3, "altered_table:1",
           end(2, 3) + end(3, 3) + insert(column(4, 3, "d") + "," + column(2, 3, "bb")));
  EXPECT_EQ(columns(), "a4 bb5 d6");
}

TEST_F(ColumnOrder, fields_of_a_struct_stand_among_themselves) {
  snapshot(1, "created_table:\"main\".\"t\"",
           insert(column(1, 1, "s") + "," + column(2, 1, "x", "1") + "," + column(3, 1, "y", "1") +
                  "," + column(4, 1, "z")));
  EXPECT_EQ(columns(), "s1 z4");
  exec("BEGIN; SET LOCAL lakeproxy.publishes = 'on';" + end(2, 2) +
       "INSERT INTO ducklake_column VALUES (2, 2, NULL, 1, 7, 'x', 'int32', NULL, NULL, true, 1, "
       "'', ''); COMMIT");
  // DuckDB writes the struct anew with all of its fields.
  snapshot(3, "altered_table:1",
           end(1, 3) + end(2, 3) + end(3, 3) +
               insert(column(1, 3, "s") + "," + column(3, 3, "y", "1") + "," +
                      column(2, 3, "x", "1") + "," + column(5, 3, "w", "1")));
  EXPECT_EQ(columns("= 1"), "y3 x7 w8");
  EXPECT_EQ(columns(), "s1 z4");
}

}  // namespace
}  // namespace lake::ducklake

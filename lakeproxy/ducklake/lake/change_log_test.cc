#include "lakeproxy/ducklake/lake/change_log.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using model::TableId;

TEST(ParseChanges, reads_every_entry_of_the_grammar) {
  struct Case {
    const char* text;
    LakeChange change;
  };
  const std::vector<Case> cases = {
      {"created_schema:\"s\"", {ChangeKind::kCreatedSchema, 0, {"s"}}},
      {"created_table:\"s\".\"t\"", {ChangeKind::kCreatedTable, 0, {"s", "t"}}},
      {"created_table:\"a.b\".\"q\"\"t,x:1\"", {ChangeKind::kCreatedTable, 0, {"a.b", "q\"t,x:1"}}},
      {"created_schema:\"a\".\"b\".\"c\"", {ChangeKind::kCreatedSchema, 0, {"a", "b", "c"}}},
      {"created_table:\"a\".\"b\".\"t\"", {ChangeKind::kCreatedTable, 0, {"a", "b", "t"}}},
      {"created_view:\"s\".\"v\"", {ChangeKind::kCreatedView, 0, {"s", "v"}}},
      {"created_scalar_macro:\"s\".\"m\"", {ChangeKind::kCreatedMacro, 0, {"s", "m"}}},
      {"created_table_macro:\"s\".\"m\"", {ChangeKind::kCreatedMacro, 0, {"s", "m"}}},
      {"dropped_schema:3", {ChangeKind::kDroppedSchema, 3, {}}},
      {"dropped_table:0", {ChangeKind::kDroppedTable, 0, {}}},
      {"dropped_view:4", {ChangeKind::kDroppedView, 4, {}}},
      {"dropped_scalar_macro:4", {ChangeKind::kDroppedMacro, 4, {}}},
      {"dropped_table_macro:4", {ChangeKind::kDroppedMacro, 4, {}}},
      {"inserted_into_table:5", {ChangeKind::kInserted, 5, {}}},
      {"deleted_from_table:5", {ChangeKind::kDeleted, 5, {}}},
      {"altered_table:5", {ChangeKind::kAlteredTable, 5, {}}},
      {"altered_view:5", {ChangeKind::kAlteredView, 5, {}}},
      {"inlined_insert:5", {ChangeKind::kInlinedInsert, 5, {}}},
      {"inlined_delete:5", {ChangeKind::kInlinedDelete, 5, {}}},
      {"inline_flush:5", {ChangeKind::kInlineFlush, 5, {}}},
      {"flushed_inlined:5", {ChangeKind::kInlineFlush, 5, {}}},
      {"merge_adjacent:5", {ChangeKind::kMergeAdjacent, 5, {}}},
      {"rewrite_delete:9223372036854775807", {ChangeKind::kRewriteDelete, 9223372036854775807, {}}},
      {"compacted_table:5", {ChangeKind::kCompacted, 5, {}}},
  };
  for (const Case& c : cases) {
    const ChangeLog log = parse_changes(c.text);
    EXPECT_FALSE(log.unknown) << c.text;
    ASSERT_EQ(log.changes.size(), 1) << c.text;
    EXPECT_EQ(log.changes[0], c.change) << c.text;
  }
}

TEST(ParseChanges, reads_a_list) {
  const ChangeLog log =
      parse_changes("created_table:\"s\".\"t\",inserted_into_table:7,inlined_delete:3");
  EXPECT_FALSE(log.unknown);
  EXPECT_EQ(log.changes.size(), 3);
  EXPECT_EQ(log.tables(), (std::vector{TableId(3), TableId(7)}));
}

TEST(ParseChanges, an_empty_line_changes_nothing) {
  EXPECT_FALSE(parse_changes("").unknown);
  EXPECT_TRUE(parse_changes("").changes.empty());
}

TEST(ParseChanges, what_it_cannot_read_is_unknown) {
  for (const char* text :
       {"moved_table:1", "inserted_into_table", "inserted_into_table:", "inserted_into_table:x",
        "inserted_into_table:-1", "inserted_into_table:1;", "created_table:\"s\"",
        "created_table:\"s\".t", "created_schema:\"s", "created_schema:\"s\"x", ",",
        "created_schema:\"s\".", "created_schema:\"s\".b",
        "inserted_into_table:99999999999999999999", "INSERTED_INTO_TABLE:1"}) {
    EXPECT_TRUE(parse_changes(text).unknown) << text;
  }
}

TEST(TouchesTable, names_are_not_entries) {
  EXPECT_TRUE(touches_table("altered_table:5", TableId(5)));
  EXPECT_FALSE(touches_table("altered_table:5", TableId(6)));
  EXPECT_FALSE(touches_table("altered_table:55", TableId(5)));
  EXPECT_FALSE(touches_table("created_table:\"s\".\"x,altered_table:5\"", TableId(5)));
  EXPECT_TRUE(touches_table("something_new:9", TableId(5)));
}

TEST(RedefinesTable, tells_changes_of_a_definition_from_those_of_rows) {
  for (const char* line : {"altered_table:5", "inserted_into_table:5,dropped_table:5", "new:9"}) {
    EXPECT_TRUE(redefines_table(line, TableId(5))) << line;
  }
  for (const char* line : {"", "altered_table:6", "altered_view:5", "merge_adjacent:5",
                           "inserted_into_table:5,deleted_from_table:5,inlined_delete:5"}) {
    EXPECT_FALSE(redefines_table(line, TableId(5))) << line;
  }
}

}  // namespace
}  // namespace lake::ducklake

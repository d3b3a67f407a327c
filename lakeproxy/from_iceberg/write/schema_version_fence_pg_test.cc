#include "lakeproxy/from_iceberg/write/row_changes_fixture_test.h"
#include "lakeproxy/from_iceberg/write/schema_version_fence.h"

namespace lake::ducklake {
namespace {

class SchemaVersionFence : public RowChanges {
 protected:
  // The snapshots that begin a range of what DuckDB merges, behind the table's first.
  std::string ranges() {
    return ask(
        "SELECT string_agg(begin_snapshot::text, ' ' ORDER BY begin_snapshot) FROM "
        "@ducklake_schema_versions WHERE begin_snapshot > 1");
  }
  void change_in(std::int32_t format_version, std::vector<AddedSnapshot> snapshots) {
    auto before = load();
    TableChange wanted{before, before->metadata, std::move(snapshots)};
    wanted.after.format_version = format_version;
    auto done = run(writer().change_table(soon(), std::move(wanted)));
    ASSERT_TRUE(done) << done.error().message() << done.error().detail();
  }
};

TEST_F(SchemaVersionFence, rows_that_are_written_anew_in_format_version_3_begin_a_range) {
  change_in(3, {adds(11, {file("a")})});
  EXPECT_EQ(ranges(), "") << "what is only added is new";
  change_in(3, {adds(12, {file("b")}, {"a"})});
  EXPECT_EQ(ranges(), "3");
  change_in(3, {adds(13, {}, {"b"}), adds(14, {file("c")})});
  EXPECT_EQ(ranges(), "3") << "what is only taken away leaves nothing";
  change_in(3, {adds(15, {file("d")}), adds(16, {file("e")}, {"d"})});
  EXPECT_EQ(ranges(), "3 7") << "the second of the two snapshots";
}

TEST_F(SchemaVersionFence, rows_of_format_version_2_have_no_such_number) {
  change_in(2, {adds(11, {file("a")})});
  change_in(2, {adds(12, {file("b")}, {"a"})});
  EXPECT_EQ(ranges(), "");
}

}  // namespace
}  // namespace lake::ducklake

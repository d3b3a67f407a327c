#include <gmock/gmock.h>

#include "lakeproxy/from_iceberg/rows/content_change.h"
#include "lakeproxy/from_iceberg/write/row_changes_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::SnapshotId;

class ContentChange : public RowChanges {
 protected:
  base::Result<ChangedTable> restore(std::int64_t snapshot, std::vector<FileDeletes> parts = {}) {
    TableChange change{load(), {}, {}};
    change.after = change.before->metadata;
    change.restores = SnapshotId(snapshot);
    change.partly_shown = std::move(parts);
    return run(writer().change_table(soon(), std::move(change)));
  }
  base::Result<ChangedTable> clear(std::vector<AddedSnapshot> snapshots) {
    TableChange change{load(), {}, std::move(snapshots)};
    change.after = change.before->metadata;
    change.content = Content::kEnds;
    return run(writer().change_table(soon(), std::move(change)));
  }
  std::string deletes() {
    return text(
        "SELECT coalesce(string_agg(path || '@' || data_file_id || ':' || begin_snapshot "
        "|| '-' || coalesce(end_snapshot::text, ''), ' ' ORDER BY delete_file_id), '') FROM "
        "lk.ducklake_delete_file");
  }
  std::string rows() {
    return text(
        "SELECT string_agg(row_id || ':' || begin_snapshot || '-' || "
        "coalesce(end_snapshot::text, ''), ' ' ORDER BY row_id, begin_snapshot) FROM "
        "lk.ducklake_inlined_data_1_1");
  }
  void make_inlined_table() {
    exec(
        "CREATE TABLE ducklake_inlined_data_1_1 (row_id bigint, begin_snapshot bigint, "
        "end_snapshot bigint, i bigint); INSERT INTO ducklake_inlined_data_tables VALUES (1, "
        "'ducklake_inlined_data_1_1', 1)");
  }
};

TEST_F(ContentChange, an_older_content_comes_back_as_rows_of_the_same_objects) {
  must_change({adds(11, {file("a"), file("b")})});
  must_change({adds(12, {file("c")}, {"a"})});
  auto restored = restore(2);
  ASSERT_TRUE(restored) << restored.error().message() << restored.error().detail();
  EXPECT_EQ(files(), "a:2-3 b:2- c:3-4 a:4-");
  EXPECT_EQ(line(), "deleted_from_table:1,inserted_into_table:1");
  EXPECT_EQ(text("SELECT string_agg(DISTINCT row_id_start::text, ' ') FROM lk.ducklake_data_file "
                 "WHERE path = 'a'"),
            "0")
      << "the same rows";
  EXPECT_EQ(text("SELECT commit_extra_info FROM lk.ducklake_snapshot_changes ORDER BY snapshot_id "
                 "DESC LIMIT 1"),
            R"({"lakeproxy-restored-snapshot-id":"2"})");
  EXPECT_EQ(text("SELECT count(*) FROM lk.lakeproxy_file"), "4") << "facts are copied, too";
  ASSERT_TRUE(restore(3)) << "and forth";
  EXPECT_EQ(files(), "a:2-3 b:2- c:3-4 a:4-5 c:5-");
}

// DuckDB 2.0 takes off what it drops, and ends its process where more goes than was there.
TEST_F(ContentChange, totals_are_never_below_what_is_there) {
  const auto enough = [&] {
    return text(
        "SELECT s.record_count >= f.rows AND s.file_size_bytes >= f.bytes FROM "
        "lk.ducklake_table_stats s, (SELECT coalesce(sum(record_count), 0) AS rows, "
        "coalesce(sum(file_size_bytes), 0) AS bytes FROM lk.ducklake_data_file WHERE end_snapshot "
        "IS "
        "NULL) f");
  };
  must_change({adds(11, {file("a"), file("b")})});
  for (int round = 0; round < 3; ++round) {
    const std::int64_t last = load()->version.snapshot.value;
    snapshot(
        last + 1, "deleted_from_table:1",
        fmt::format("UPDATE ducklake_data_file SET end_snapshot = {} WHERE end_snapshot IS NULL; "
                    "UPDATE ducklake_table_stats SET record_count = record_count - 200, "
                    "file_size_bytes = file_size_bytes - 2000; UPDATE ducklake_snapshot SET "
                    "next_file_id = {} WHERE snapshot_id = {}",
                    last + 1, 100 * (round + 1), last + 1));
    auto restored = restore(last);
    ASSERT_TRUE(restored) << restored.error().message() << restored.error().detail();
    EXPECT_EQ(enough(), "t") << round;
  }
}

TEST_F(ContentChange, deletes_are_what_they_were) {
  must_change({adds(11, {file("a"), file("b")})});
  snapshot(3, "deleted_from_table:1",
           "INSERT INTO ducklake_delete_file SELECT 60, 1, 3, NULL, data_file_id, 'd1', true, "
           "'parquet', 1, 1, 1, NULL, NULL FROM ducklake_data_file WHERE path = 'a'");
  snapshot(4, "deleted_from_table:1",
           "UPDATE ducklake_delete_file SET end_snapshot = 4; INSERT INTO ducklake_delete_file "
           "SELECT 61, 1, 4, NULL, data_file_id, 'd2', true, 'parquet', 2, 1, 1, NULL, NULL FROM "
           "ducklake_data_file WHERE path = 'a'");
  auto restored = restore(3);
  ASSERT_TRUE(restored) << restored.error().message() << restored.error().detail();
  EXPECT_EQ(files(), "a:2-5 b:2- a:5-") << "rows came back, so the file has a new row";
  EXPECT_EQ(deletes(), "d1@0:3-4 d2@0:4- d1@100:5-") << "as DuckDB leaves those of ended files";
}

TEST_F(ContentChange, rows_and_deletes_in_postgresql_are_what_they_were) {
  must_change({adds(11, {file("a")})});
  make_inlined_table();
  exec(
      "CREATE TABLE ducklake_inlined_delete_1 (file_id bigint, row_id bigint, begin_snapshot "
      "bigint)");
  snapshot(3, "inlined_insert:1,inlined_delete:1",
           "INSERT INTO ducklake_inlined_data_1_1 VALUES (100, 3, NULL, 7), (101, 3, NULL, 8); "
           "INSERT INTO ducklake_inlined_delete_1 VALUES (0, 5, 3)");
  snapshot(4, "inlined_insert:1,inlined_delete:1",
           "UPDATE ducklake_inlined_data_1_1 SET end_snapshot = 4 WHERE row_id = 100; INSERT INTO "
           "ducklake_inlined_data_1_1 VALUES (102, 4, NULL, 9); INSERT INTO "
           "ducklake_inlined_delete_1 VALUES (0, 6, 4); "
           "UPDATE ducklake_snapshot SET schema_version = 1 WHERE snapshot_id > 2");
  auto restored = restore(3);
  ASSERT_TRUE(restored) << restored.error().message() << restored.error().detail();
  EXPECT_EQ(rows(), "100:3-4 100:5- 101:3- 102:4-5");
  EXPECT_EQ(files(), "a:2-5 a:5-");
  EXPECT_EQ(text("SELECT string_agg(row_id::text, ' ') FROM lk.ducklake_inlined_delete_1 WHERE "
                 "begin_snapshot = 5"),
            "5");
  EXPECT_EQ(text("SELECT string_agg(begin_snapshot || ':' || schema_version, ' ' ORDER BY "
                 "begin_snapshot) FROM lk.ducklake_schema_versions WHERE begin_snapshot > 2"),
            "5:2")
      << "DuckDB merges nothing across it";
  EXPECT_EQ(text("SELECT count(*)::text FROM lk.ducklake_inlined_data_1_2"), "0");
}

TEST_F(ContentChange, of_a_part_of_a_file_it_is_read_what_was_deleted_then) {
  must_change({adds(11, {file("a"), file("b")})});
  exec(
      "UPDATE ducklake_data_file SET partial_max = 9; INSERT INTO ducklake_delete_file "
      "SELECT 60, 1, 2, NULL, data_file_id, 'd', true, 'parquet', 1, 7, 1, NULL, 4 FROM "
      "ducklake_data_file WHERE path = 'a'; CREATE TABLE ducklake_inlined_delete_1 (file_id "
      "bigint, row_id bigint, begin_snapshot bigint); INSERT INTO ducklake_inlined_delete_1 SELECT "
      "data_file_id, r.id, r.begun FROM ducklake_data_file, (VALUES (5, 2), (6, 2), (7, 3)) AS "
      "r(id, begun) WHERE path = 'a'");
  LakeReader reader(*pool_, options_);
  auto table = load();
  auto parts = run(reader.partly_shown(soon(), table.get(), SnapshotId(2)));
  ASSERT_TRUE(parts) << parts.error().message() << parts.error().detail();
  ASSERT_EQ(parts->size(), 2U);
  const PartlyShown& a = parts->front();
  EXPECT_EQ(a.file.path, kFolder + "a");
  ASSERT_TRUE(a.delete_file);
  EXPECT_EQ(a.delete_file->id, 60);
  EXPECT_EQ(a.delete_file->path, kFolder + "d");
  EXPECT_EQ(a.delete_file->file_size_bytes, 7);
  EXPECT_EQ(a.delete_file->partial_max, SnapshotId(4));
  EXPECT_THAT(a.inlined, testing::UnorderedElementsAre(5, 6));
  EXPECT_EQ(parts->back().file.path, kFolder + "b");
  EXPECT_FALSE(parts->back().delete_file);
  EXPECT_TRUE(parts->back().inlined.empty());
}

TEST_F(ContentChange, a_merged_file_comes_back_without_its_younger_rows) {
  must_change({adds(11, {file("a")})});
  must_change({adds(12, {file("b")})});
  exec(
      "DELETE FROM ducklake_data_file WHERE path = 'b'; UPDATE ducklake_data_file SET partial_max "
      "= 3, record_count = 200");
  LakeReader reader(*pool_, options_);
  auto table = load();
  auto parts = run(reader.partly_shown(soon(), table.get(), SnapshotId(2)));
  ASSERT_TRUE(parts) << parts.error().message();
  ASSERT_EQ(parts->size(), 1U);
  EXPECT_EQ(parts->front().file.path, kFolder + "a");
  EXPECT_TRUE(run(reader.partly_shown(soon(), table.get(), SnapshotId(3)))->empty());
  auto unread = restore(2);
  ASSERT_FALSE(unread) << "it was merged after the parts were read";
  EXPECT_EQ(unread.error().reason(), kStale);
  FileDeletes part{.file = parts->front().file.id};
  part.object = DeleteObject{kFolder + "younger", 100, 10};
  auto restored = restore(2, {part});
  ASSERT_TRUE(restored) << restored.error().message() << restored.error().detail();
  EXPECT_EQ(files(), "a:2-4 a:4-");
  EXPECT_EQ(text("SELECT string_agg(coalesce(partial_max::text, '-'), ' ' ORDER BY data_file_id) "
                 "FROM lk.ducklake_data_file"),
            "3 -");
  EXPECT_EQ(deletes(), "younger@" +
                           text("SELECT data_file_id::text FROM lk.ducklake_data_file "
                                "WHERE end_snapshot IS NULL") +
                           ":4-");
}

TEST_F(ContentChange, what_would_read_otherwise_does_not_come_back) {
  must_change({adds(11, {file("a")})});
  must_change({adds(12, {}, {"a"})});
  exec(
      "INSERT INTO ducklake_column (column_id, begin_snapshot, table_id, column_order, "
      "column_name, column_type, initial_default, nulls_allowed) VALUES (9, 3, 1, 9, 'late', "
      "'int64', '5', true)");
  auto column = restore(2);
  ASSERT_FALSE(column);
  EXPECT_EQ(column.error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(files(), "a:2-3");
}

TEST_F(ContentChange, a_cleared_table_has_no_current_snapshot_until_rows_are_added) {
  must_change({adds(11, {file("a")})});
  make_inlined_table();
  snapshot(3, "inlined_insert:1", "INSERT INTO ducklake_inlined_data_1_1 VALUES (100, 3, NULL, 7)");
  auto cleared = clear({});
  ASSERT_TRUE(cleared) << cleared.error().message() << cleared.error().detail();
  EXPECT_EQ(files(), "a:2-4");
  EXPECT_EQ(rows(), "100:3-4");
  EXPECT_EQ(line(), "deleted_from_table:1,inlined_delete:1");
  EXPECT_EQ(load()->cleared_at, SnapshotId(4));
  EXPECT_EQ(text("SELECT count(*) FROM lk.ducklake_table_column_stats WHERE min_value IS NULL OR "
                 "max_value IS NULL"),
            "0")
      << "DuckDB's next rows must not make the range";
  must_change({adds(12, {file("b")})});
  EXPECT_EQ(load()->cleared_at, SnapshotId(4)) << "the later snapshot stands for itself";
}

TEST_F(ContentChange, a_replaced_table_has_its_new_rows_alone) {
  must_change({adds(11, {file("a")})});
  auto replaced = clear({adds(12, {file("a"), file("b")})});
  ASSERT_TRUE(replaced) << replaced.error().message() << replaced.error().detail();
  EXPECT_EQ(files(), "a:2-3 a:3- b:3-");
  EXPECT_FALSE(load()->cleared_at);
}

}  // namespace
}  // namespace lake::ducklake

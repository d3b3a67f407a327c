#include "lakeproxy/derive/plan/derived_object_names.h"
#include "lakeproxy/from_iceberg/write/row_changes_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::SnapshotId;

TEST_F(RowChanges, a_removed_file_ends_and_its_delete_file_stays_open_as_duckdb_leaves_it) {
  must_change({adds(11, {file("a"), file("b")})});
  exec(
      "INSERT INTO ducklake_delete_file SELECT 50, table_id, 2, NULL, data_file_id, 'd', true, "
      "'parquet', 1, 10, 1, NULL, NULL FROM ducklake_data_file WHERE path = 'a'");
  auto changed = change(load(), {adds(12, {file("c")}, {"a"})});
  ASSERT_TRUE(changed) << changed.error().message();
  EXPECT_FALSE(changed->known) << "more than an append";
  EXPECT_EQ(files(), "a:2-3 b:2- c:3-");
  EXPECT_EQ(spans("ducklake_delete_file", "delete_file_id"), "d:2-");
  EXPECT_EQ(line(), "deleted_from_table:1,inserted_into_table:1");
  EXPECT_EQ(text("SELECT record_count FROM lk.ducklake_table_stats"), "302")
      << "only grows, and is one too high for each change that adds files";
  must_change({adds(13, {}, {"b", "c"})});
  EXPECT_EQ(files(), "a:2-3 b:2-4 c:3-4");
  EXPECT_EQ(line(), "deleted_from_table:1");
}

TEST_F(RowChanges, of_a_path_that_stands_twice_the_older_row_goes_first) {
  must_change({adds(11, {file("a")})});
  must_change({adds(12, {file("a")})});
  must_change({adds(13, {}, {"a"})});
  EXPECT_EQ(files(), "a:2-4 a:3-");
  must_change({adds(14, {file("a"), file("a")})});
  must_change({adds(15, {}, {"a", "a", "a"})});
  EXPECT_EQ(files(), "a:2-4 a:3-6 a:5-6 a:5-6");
}

TEST_F(RowChanges, a_later_snapshot_of_the_same_commit_may_remove_what_an_earlier_one_adds) {
  must_change({adds(11, {file("a"), file("b")}), adds(12, {file("c")}, {"b"})});
  EXPECT_EQ(files(), "a:2- b:2-3 c:3-");
}

// Deletes of one file, by an object of that name.
AddedSnapshot deletes(std::int64_t id, decltype(FileDeletes::file) of, const char* object,
                      Restores restores = Restores::kNothing) {
  AddedSnapshot added = adds(id, {});
  FileDeletes changed{.file = of, .restores = restores};
  if (object != nullptr) changed.object = DeleteObject{kFolder + object, 1, 10};
  added.deletes.files.push_back(std::move(changed));
  return added;
}

TEST_F(RowChanges,
       a_later_snapshot_of_the_same_commit_may_delete_rows_of_what_an_earlier_one_adds) {
  must_change({adds(11, {file("a"), file("b")}), deletes(12, NewFile{0, 1}, "d1"),
               adds(13, {file("b")}), deletes(14, NewFile{0, 1}, "d2"),
               deletes(15, NewFile{2, 0}, "d3")});
  EXPECT_EQ(files(), "a:2- b:2- b:4-");
  EXPECT_EQ(spans("ducklake_delete_file", "delete_file_id"), "d1:3-5 d2:5- d3:6-");
  EXPECT_EQ(text("SELECT string_agg(data_file_id::text, ' ' ORDER BY delete_file_id) FROM "
                 "lk.ducklake_delete_file"),
            text("SELECT string_agg(data_file_id::text, ' ' ORDER BY data_file_id, n) FROM "
                 "lk.ducklake_data_file, generate_series(1, 2) n WHERE path = 'b' AND (n = 1 OR "
                 "begin_snapshot = 2)"));
}

TEST_F(RowChanges, a_row_that_moved_is_meant_by_its_old_name_for_the_rest_of_the_commit) {
  must_change({adds(11, {file("a")})});
  const model::DataFileId a{std::stoll(text("SELECT data_file_id FROM lk.ducklake_data_file"))};
  must_change({deletes(12, a, "d1"), deletes(13, a, nullptr, Restores::kRows), deletes(14, a, "d2"),
               deletes(15, a, "d3", Restores::kRows), adds(16, {}, {"a"})});
  EXPECT_EQ(files(), "a:2-4 a:4-6 a:6-7");
  EXPECT_EQ(spans("ducklake_delete_file", "delete_file_id"), "d1:3- d2:5- d3:6-");
  EXPECT_EQ(
      text("SELECT count(*) FROM lk.ducklake_delete_file d JOIN lk.ducklake_data_file f USING "
           "(data_file_id) WHERE d.begin_snapshot >= f.begin_snapshot AND d.begin_snapshot < "
           "f.end_snapshot"),
      "3")
      << "each belongs to the row of its time";
}

TEST_F(RowChanges, a_file_that_is_not_live_cannot_be_removed) {
  must_change({adds(11, {file("a")})});
  must_change({adds(12, {}, {"a"})});
  const std::string before = files();
  for (const char* name : {"a", "never"}) {
    auto changed = change(load(), {adds(13, {file("b")}, {name})});
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().kind(), ErrorKind::kConflict);
    EXPECT_NE(changed.error().reason(), kStale) << "asking again would not help";
    EXPECT_NE(changed.error().message().find(kFolder + name), std::string::npos);
  }
  EXPECT_EQ(files(), before);
}

TEST_F(RowChanges, the_file_of_another_table_under_the_same_name_stays) {
  must_change({adds(11, {file("a")})});
  exec(
      "INSERT INTO ducklake_data_file SELECT 90, 77, 2, NULL, NULL, path, true, 'parquet', 1, 1, "
      "1, 0, NULL, NULL, NULL, NULL FROM ducklake_data_file");
  must_change({adds(12, {}, {"a"})});
  EXPECT_EQ(files(), "a:2-3 a:2-");
}

TEST_F(RowChanges, a_removed_group_of_inlined_rows_ends_in_postgresql) {
  exec(
      "CREATE TABLE ducklake_inlined_data_1_1 (row_id bigint, begin_snapshot bigint, end_snapshot "
      "bigint, i bigint); INSERT INTO ducklake_inlined_data_tables VALUES (1, "
      "'ducklake_inlined_data_1_1', 1)");
  snapshot(2, "inlined_insert:1",
           "INSERT INTO ducklake_inlined_data_1_1 VALUES (0, 2, NULL, 5), (1, 2, 3, "
           "6), (2, 2, 2, 7)");
  snapshot(3, "inlined_delete:1,inlined_insert:1",
           "INSERT INTO ducklake_inlined_data_1_1 VALUES (3, 3, NULL, 8)");
  const LakeTablePtr before = load();
  AddedSnapshot removal = adds(12, {});
  removal.removed = {materialize::inlined_location(*before, 1, SnapshotId(2))};
  auto changed = change(before, {removal});
  ASSERT_TRUE(changed) << changed.error().message() << changed.error().detail();
  EXPECT_EQ(line(), "inlined_delete:1");
  EXPECT_EQ(text("SELECT string_agg(row_id || ':' || coalesce(end_snapshot::text, ''), ' ' ORDER "
                 "BY row_id) FROM lk.ducklake_inlined_data_1_1"),
            "0:4 1:3 2:2 3:")
      << "those of the group that were left, and no others";
}

TEST_F(RowChanges, ended_rows_of_postgresql_come_back_with_their_ids) {
  exec(
      "CREATE TABLE ducklake_inlined_data_1_1 (row_id bigint, begin_snapshot bigint, end_snapshot "
      "bigint, i bigint); INSERT INTO ducklake_inlined_data_tables VALUES (1, "
      "'ducklake_inlined_data_1_1', 1)");
  must_change({adds(11, {file("a")})});
  snapshot(3, "inlined_insert:1",
           "INSERT INTO ducklake_inlined_data_1_1 VALUES (100, 3, 4, 5), (101, 3, 4, 6), (102, 3, "
           "NULL, 7); UPDATE ducklake_table_stats SET next_row_id = 103");
  snapshot(4, "inlined_insert:1,inlined_delete:1",
           "INSERT INTO ducklake_inlined_data_1_1 VALUES (101, 4, NULL, 60)");
  const LakeTablePtr before = load();
  AddedSnapshot takes_back = adds(12, {});
  takes_back.deletes.groups.push_back({{1, SnapshotId(3)}, {}, {0, 1, 2}});
  auto changed = change(before, {takes_back});
  ASSERT_TRUE(changed) << changed.error().message() << changed.error().detail();
  EXPECT_EQ(line(), "inlined_insert:1");
  EXPECT_EQ(text("SELECT string_agg(row_id || ':' || begin_snapshot || '-' || "
                 "coalesce(end_snapshot::text, '') || '=' || i, ' ' ORDER BY i, begin_snapshot) "
                 "FROM lk.ducklake_inlined_data_1_1"),
            "100:3-4=5 100:5-=5 101:3-4=6 103:5-=6 102:3-=7 101:4-=60")
      << "one that was updated meanwhile is another row; one that never ended stays";
  EXPECT_EQ(text("SELECT next_row_id FROM lk.ducklake_table_stats"), "104");
}

TEST_F(RowChanges, an_append_goes_on_top_of_rows_that_others_changed) {
  must_change({adds(11, {file("a")})});
  const LakeTablePtr before = load();
  must_change({adds(12, {file("b")}, {"a"})});
  auto exact = change(before, {adds(13, {file("c")})});
  ASSERT_FALSE(exact);
  EXPECT_EQ(exact.error().reason(), kStale);
  auto append = change(before, {adds(13, {file("c")})}, BaseVersionCheck::kDefinition);
  ASSERT_TRUE(append) << append.error().message();
  EXPECT_FALSE(append->known) << "it does not know what the others did";
  EXPECT_EQ(files(), "a:2-3 b:3- c:4-");
  EXPECT_EQ(text("SELECT string_agg(row_id_start::text, ' ' ORDER BY data_file_id) FROM "
                 "lk.ducklake_data_file"),
            "0 100 200");
}

TEST_F(RowChanges, an_append_does_not_go_on_top_of_another_definition) {
  const LakeTablePtr before = load();
  for (const char* changes : {"altered_table:1", "dropped_table:1", "who_knows:1"}) {
    exec(
        fmt::format("INSERT INTO ducklake_snapshot SELECT max(snapshot_id) + 1, now(), 9, 9, 9 "
                    "FROM ducklake_snapshot; INSERT INTO ducklake_snapshot_changes SELECT "
                    "max(snapshot_id), '{}' FROM ducklake_snapshot",
                    changes));
    auto append = change(before, {adds(11, {file("a")})}, BaseVersionCheck::kDefinition);
    ASSERT_FALSE(append) << changes;
    EXPECT_EQ(append.error().reason(), kStale);
    exec(
        "DELETE FROM ducklake_snapshot_changes WHERE snapshot_id > 1; DELETE FROM "
        "ducklake_snapshot WHERE snapshot_id > 1");
  }
}

TEST_F(RowChanges, a_snapshot_is_added_once) {
  const LakeTablePtr before = load();
  must_change({adds(11, {file("a")})});
  auto again = change(before, {adds(11, {file("a")})}, BaseVersionCheck::kDefinition);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kConflict);
  EXPECT_NE(again.error().reason(), kStale);
  EXPECT_EQ(files(), "a:2-");
}

}  // namespace
}  // namespace lake::ducklake

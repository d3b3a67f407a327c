#include "lakeproxy/to_iceberg/snapshot/row_lineage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/to_iceberg/snapshot/snapshot_chain.h"

namespace lake::materialize {
namespace {

using ::testing::ElementsAre;

FileView rows_from(std::string path, std::int64_t begin, std::optional<std::int64_t> first) {
  FileView view = plain_view(std::move(path));
  view.begin = model::SnapshotId(begin);
  view.file.first_row_id = first;
  return view;
}

class LineageTest : public ::testing::Test {
 protected:
  LineageTest() { chain.table.metadata.format_version = 3; }

  SnapshotChange adding(std::int64_t snapshot, std::vector<FileView> views) {
    SnapshotChange change = change_of(snapshot);
    change.added_data = std::move(views);
    return change;
  }

  SnapshotChain chain;
};

TEST_F(LineageTest, ids_and_numbers_are_the_lakes) {
  auto first = chain.apply(adding(7, {rows_from("a", 7, 0), rows_from("b", 7, 10)}));
  EXPECT_EQ(first.snapshot.sequence_number, 7);
  EXPECT_EQ(first.snapshot.first_row_id, 0);
  EXPECT_EQ(first.snapshot.added_rows, 20);
  auto second = chain.apply(adding(12, {rows_from("c", 12, 20)}));
  EXPECT_EQ(second.snapshot.sequence_number, 12);
  EXPECT_EQ(second.snapshot.first_row_id, 20);
  EXPECT_EQ(second.snapshot.added_rows, 10);
  std::vector<std::int64_t> ids;
  for (const SeenEntry& seen : chain.read(second.snapshot)) {
    ids.push_back(seen.entry.data_file.first_row_id.value());
    EXPECT_EQ(seen.entry.sequence_number, seen.entry.snapshot_id->value);
    EXPECT_LE(seen.manifest.first_row_id, seen.entry.data_file.first_row_id);
  }
  EXPECT_THAT(ids, ElementsAre(0, 10, 20));
}

// DuckDB merged files whose ids did not follow each other; those files are gone.
TEST_F(LineageTest, ids_that_stand_in_a_file_are_within_what_its_snapshot_says) {
  chain.table.metadata.next_row_id = 50;
  auto file = lake_file(1, 7);
  file.row_id_start.reset();
  auto merged = view_data_file(chain.table, file);
  ASSERT_TRUE(merged);
  auto first = chain.apply(adding(7, {*merged}));
  EXPECT_EQ(*first.snapshot.first_row_id + *first.snapshot.added_rows, 50);
  auto second = chain.apply(adding(12, {rows_from("c", 12, 40)}));
  EXPECT_EQ(second.snapshot.first_row_id, 50);
  EXPECT_EQ(second.snapshot.added_rows, 0);
}

// Rows in two forms, or with gaps where some were deleted, stand in one flushed file.
TEST_F(LineageTest, ids_of_a_flushed_file_do_not_follow_from_its_rows) {
  chain.table.metadata.next_row_id = 3;
  auto file = lake_file(1, 7);
  file.row_id_start = 0;
  file.record_count = 4;
  auto plain = view_data_file(chain.table, file);
  file.partial_max = model::SnapshotId(8);
  auto flushed = view_data_file(chain.table, file);
  ASSERT_TRUE(plain && flushed);
  EXPECT_EQ(plain->row_id_end, std::nullopt);
  EXPECT_EQ(chain.apply(adding(7, {*flushed})).snapshot.added_rows, 3);
}

TEST_F(LineageTest, a_file_keeps_the_number_of_the_snapshot_that_wrote_it) {
  auto built = chain.apply(adding(9, {rows_from("a", 4, 0)}));
  auto seen = chain.read(built.snapshot).at(0);
  EXPECT_EQ(seen.entry.snapshot_id, model::SnapshotId(9));
  EXPECT_EQ(seen.entry.sequence_number, 4);
  EXPECT_EQ(seen.entry.file_sequence_number, 4);
  EXPECT_EQ(seen.manifest.sequence_number, 9);
  EXPECT_EQ(seen.manifest.min_sequence_number, 4);
}

TEST_F(LineageTest, a_file_that_holds_its_ids_itself_takes_none_but_has_a_first_one) {
  chain.apply(adding(1, {rows_from("a", 1, 0)}));
  auto built = chain.apply(adding(2, {rows_from("b", 2, std::nullopt)}));
  EXPECT_EQ(built.snapshot.first_row_id, 10);
  EXPECT_EQ(built.snapshot.added_rows, 0);
  EXPECT_EQ(chain.read(built.snapshot).back().entry.data_file.first_row_id, 10);
}

TEST_F(LineageTest, manifests_that_are_written_again_keep_the_ids) {
  chain.apply(adding(1, {rows_from("a", 1, 0), rows_from("b", 1, 10)}));
  chain.forget();
  SnapshotChange change = change_of(2);
  change.removed_data = {"a"};
  auto built = chain.apply(change);
  EXPECT_EQ(built.snapshot.first_row_id, 20);
  EXPECT_EQ(built.snapshot.added_rows, 0);
  for (const SeenEntry& seen : chain.read(built.snapshot)) {
    EXPECT_EQ(seen.entry.data_file.first_row_id, seen.entry.data_file.file_path == "a" ? 0 : 10);
    EXPECT_EQ(seen.manifest.first_row_id, 0);
  }
}

TEST_F(LineageTest, version_2_shows_none_of_it) {
  chain.table.metadata.format_version = 2;
  auto built = chain.apply(adding(7, {rows_from("a", 4, 5)}));
  EXPECT_EQ(built.snapshot.sequence_number, 1);
  EXPECT_EQ(built.snapshot.first_row_id, std::nullopt);
  chain.forget();
  auto seen = chain.read(built.snapshot).at(0);
  EXPECT_EQ(seen.entry.sequence_number, 1);
  EXPECT_EQ(seen.entry.data_file.first_row_id, std::nullopt);
  EXPECT_EQ(seen.manifest.first_row_id, std::nullopt);
}

}  // namespace
}  // namespace lake::materialize

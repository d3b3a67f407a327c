#include "lakeproxy/engine/parquet/read_row_snapshot_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/engine/files/engine_fixture_test.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using ::testing::ElementsAre;

const FileSpan kSpan{model::SnapshotId(3), model::SnapshotId(9)};

class RowSnapshotIdsTest : public ::testing::Test {
 protected:
  base::Result<std::optional<model::RowSnapshotIds>> read(const std::string& bytes,
                                                          std::int64_t rows) {
    auto scratch = *ScratchFolder::make(engine.folder());
    EXPECT_TRUE(append_file(scratch.file("f"), bytes));
    return read_row_snapshot_ids(*engine, scratch.file("f"), rows, kSpan, kNoDeadline);
  }

  SampleEngine engine;
};

TEST_F(RowSnapshotIdsTest, tells_the_snapshot_of_each_row_in_file_order) {
  auto begins = read(engine.parquet("SELECT * FROM (VALUES ('a', 7::UBIGINT), ('b', 3), ('c', 7)) "
                                    "v(x, _ducklake_internal_snapshot_id)"),
                     3);
  ASSERT_TRUE(begins) << begins.error().message() << begins.error().detail();
  EXPECT_THAT((*begins)->after(model::SnapshotId(3)), ElementsAre(0, 2));
  EXPECT_TRUE(engine.scratch_is_empty());
}

TEST_F(RowSnapshotIdsTest, a_row_without_a_number_begins_with_the_last_ones) {
  auto begins = read(engine.parquet("SELECT * FROM (VALUES (7::BIGINT), (NULL), (9)) "
                                    "v(_ducklake_internal_snapshot_id)"),
                     3);
  ASSERT_TRUE(begins) << begins.error().message() << begins.error().detail();
  EXPECT_THAT((*begins)->after(model::SnapshotId(8)), ElementsAre(1, 2));
  EXPECT_THAT((*begins)->after(model::SnapshotId(9)), ElementsAre());
}

TEST_F(RowSnapshotIdsTest, a_row_that_was_elsewhere_before_begins_with_the_file) {
  auto begins = read(engine.parquet("SELECT * FROM (VALUES (1::BIGINT), (3), (4)) "
                                    "v(_ducklake_internal_snapshot_id)"),
                     3);
  ASSERT_TRUE(begins) << begins.error().message() << begins.error().detail();
  EXPECT_THAT((*begins)->after(model::SnapshotId(2)), ElementsAre(0, 1, 2));
  EXPECT_THAT((*begins)->after(model::SnapshotId(3)), ElementsAre(2));
}

TEST_F(RowSnapshotIdsTest, refuses_what_does_not_say_it) {
  auto kind = [&](const std::string& query, std::int64_t rows) {
    return kind_of(read(engine.parquet(query), rows));
  };
  auto silent = read(engine.parquet("SELECT 1 AS x"), 1);
  ASSERT_TRUE(silent);
  EXPECT_FALSE(*silent);
  EXPECT_EQ(kind("SELECT 'a' AS _ducklake_internal_snapshot_id", 1), ErrorKind::kCorrupt);
  EXPECT_EQ(kind("SELECT -1 AS _ducklake_internal_snapshot_id", 1), ErrorKind::kCorrupt);
  EXPECT_EQ(kind("SELECT 1 AS _ducklake_internal_snapshot_id", 2), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(read("PAR1", 1)), ErrorKind::kCorrupt);
}

TEST(LeafOf, counts_the_leaves_of_the_columns_before) {
  const ParquetNode leaf{.name = "x"};
  const ParquetNode pair{.name = "p", .shape = ParquetShape::kStruct, .children = {leaf, leaf}};
  const ParquetNode root{.shape = ParquetShape::kStruct,
                         .children = {pair, leaf, {.name = "y"}, pair}};
  EXPECT_EQ(leaf_of(root, "x"), 2) << "the one at the top";
  EXPECT_EQ(leaf_of(root, "y"), 3);
  EXPECT_EQ(leaf_of(root, "p"), std::nullopt) << "no leaf";
  EXPECT_EQ(leaf_of(root, "z"), std::nullopt);
}

}  // namespace
}  // namespace lake::exporter

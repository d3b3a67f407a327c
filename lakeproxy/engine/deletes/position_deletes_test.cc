#include "lakeproxy/engine/deletes/position_deletes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "base/duckdb/sql_text.h"
#include "lakeproxy/engine/files/engine_fixture_test.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PositionDeletesTest : public ::testing::Test {
 protected:
  base::Result<std::vector<std::int64_t>> read(const std::string& bytes) {
    auto result = read_position_deletes(*engine, bytes, model::SnapshotId(100), kNoDeadline);
    EXPECT_TRUE(engine.scratch_is_empty());
    return result;
  }

  SampleEngine engine;
};

TEST_F(PositionDeletesTest, come_back_as_they_were_written) {
  std::vector<std::int64_t> many(100'000);
  std::iota(many.begin(), many.end(), 0);
  for (const auto& positions :
       {std::vector<std::int64_t>{}, {0}, {0, 5, INT64_MAX}, std::move(many)}) {
    auto bytes =
        write_position_deletes(*engine, "s3://b/it's \"\xc3\xa4.parquet", positions, kNoDeadline);
    ASSERT_TRUE(bytes) << bytes.error().detail();
    EXPECT_EQ(*read(*bytes), positions);
  }
}

TEST_F(PositionDeletesTest, are_written_with_icebergs_field_ids) {
  auto scratch = *ScratchFolder::make(engine.folder());
  std::string path = scratch.file("f");
  ASSERT_TRUE(
      append_file(path, *write_position_deletes(*engine, "s3://b/it's", {3, 4}, kNoDeadline)));
  auto connection = *engine->connect();
  ParquetNode root = *read_parquet_tree(connection, path);
  ASSERT_EQ(root.children.size(), 2);
  EXPECT_EQ(root.children[0].name, "file_path");
  EXPECT_EQ(root.children[0].field_id, 2'147'483'546);
  EXPECT_EQ(root.children[0].physical_type, "BYTE_ARRAY");
  EXPECT_EQ(root.children[1].name, "pos");
  EXPECT_EQ(root.children[1].field_id, 2'147'483'545);
  EXPECT_EQ(root.children[1].physical_type, "INT64");
  auto rows = connection.execute("SELECT DISTINCT file_path FROM read_parquet(" +
                                 base::duckdb::quote_literal(path) + ")");
  ASSERT_TRUE(rows) << rows.error().detail();
  ASSERT_TRUE(*rows->next());
  EXPECT_EQ(rows->bytes(0), "s3://b/it's");
  EXPECT_FALSE(*rows->next());
}

TEST_F(PositionDeletesTest, are_the_same_bytes_each_time) {
  EXPECT_EQ(*write_position_deletes(*engine, "f", {1, 2}, kNoDeadline),
            *write_position_deletes(*engine, "f", {1, 2}, kNoDeadline));
  EXPECT_EQ(kind_of(write_position_deletes(*engine, "\xff", {1}, kNoDeadline)),
            ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(write_position_deletes(*engine, "f", {1}, std::chrono::steady_clock::now())),
            ErrorKind::kTimeout);
}

TEST_F(PositionDeletesTest, are_read_by_name_sorted_and_once) {
  std::string bytes = engine.parquet(
      "SELECT * FROM (VALUES (7::BIGINT, 'a'), (1, 'b'), (7, 'b'), (0, 'a')) t(pos, file_path)",
      ", FIELD_IDS {file_path: 2147483646, pos: 2147483645}");
  EXPECT_THAT(*read(bytes), ElementsAre(0, 1, 7));
  EXPECT_EQ(kind_of(read_position_deletes(*engine, bytes, model::SnapshotId(100), kNoDeadline, 3)),
            ErrorKind::kTooLarge);
  EXPECT_TRUE(read_position_deletes(*engine, bytes, model::SnapshotId(100), kNoDeadline, 4));
}

TEST_F(PositionDeletesTest, refuse_hostile_files) {
  EXPECT_EQ(kind_of(read("")), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(read("PAR1")), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(read("PAR1\xff\xff\xff\x7fPAR1")), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(read(engine.parquet("SELECT 'a' AS file_path"))), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(read(engine.parquet("SELECT 'x' AS pos"))), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(read(engine.parquet("SELECT [1::BIGINT] AS pos"))), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(read(engine.parquet("SELECT -1::BIGINT AS pos"))), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(read(engine.parquet("SELECT NULL::BIGINT AS pos"))), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(read(engine.parquet("SELECT 18446744073709551615::UBIGINT AS pos"))),
            ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(read(engine.parquet("SELECT 1::BIGINT AS pos, 'x' AS "
                                        "_ducklake_internal_snapshot_id"))),
            ErrorKind::kCorrupt);
  std::string good = engine.parquet("SELECT 'a' AS file_path, 1::BIGINT AS pos");
  for (std::size_t size = 0; size < good.size(); size += 7) {
    ASSERT_FALSE(read(good.substr(0, size))) << size;
  }
  // Whatever was in those files, the engine still works.
  EXPECT_THAT(*read(good), ElementsAre(1));
}

TEST_F(PositionDeletesTest, survive_changed_bytes) {
  std::string good = engine.parquet("SELECT 'a' AS file_path, i AS pos FROM range(1000) r(i)");
  for (std::size_t i = 0; i < good.size(); i += 13) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    auto result = read(bad);
    if (!result) {
      EXPECT_TRUE(result.error().kind() == ErrorKind::kCorrupt ||
                  result.error().kind() == ErrorKind::kTooLarge)
          << i << result.error().detail();
    }
  }
  EXPECT_EQ(read(good)->size(), 1000);
}

TEST(UnitePositionsTest, sorts_and_refuses_negative_ones) {
  EXPECT_THAT(*unite_positions({5, 1}, {3, 5}), ElementsAre(1, 3, 5));
  EXPECT_THAT(*unite_positions({}, {}), IsEmpty());
  EXPECT_EQ(kind_of(unite_positions({1}, {-1})), ErrorKind::kCorrupt);
}

TEST(PositionDeletes, a_snapshot_sees_no_deletes_of_later_ones) {
  SampleEngine engine;
  std::string bytes = engine.parquet(
      "SELECT * FROM (VALUES (1::BIGINT, 79::BIGINT), (2, 80), (3, 82)) AS d(pos, "
      "_ducklake_internal_snapshot_id)");
  auto seen = [&](std::int64_t snapshot) {
    return *read_position_deletes(*engine, bytes, model::SnapshotId(snapshot), kNoDeadline);
  };
  EXPECT_TRUE(seen(78).empty());
  EXPECT_THAT(seen(79), ElementsAre(1));
  EXPECT_THAT(seen(81), ElementsAre(1, 2));
  EXPECT_THAT(seen(82), ElementsAre(1, 2, 3));
}

TEST(ReadRowEnds, tells_the_snapshot_of_each_position) {
  SampleEngine engine;
  auto read = [&](const std::string& query) {
    return read_row_ends(*engine, engine.parquet(query), model::SnapshotId(7), kNoDeadline);
  };
  auto several = read(
      "SELECT 'x' AS file_path, unnest([4, 9])::BIGINT AS pos, "
      "unnest([8, 5])::BIGINT AS _ducklake_internal_snapshot_id");
  ASSERT_TRUE(several) << several.error().message();
  EXPECT_EQ(*several, (model::RowEnds{{4, model::SnapshotId(8)}, {9, model::SnapshotId(5)}}));
  auto one = read("SELECT 'x' AS file_path, 4::BIGINT AS pos");
  ASSERT_TRUE(one);
  EXPECT_EQ(*one, (model::RowEnds{{4, model::SnapshotId(7)}}));
  EXPECT_EQ(kind_of(read("SELECT 'x' AS file_path, NULL::BIGINT AS pos")),
            base::ErrorKind::kCorrupt);
  EXPECT_EQ(
      kind_of(read("SELECT 4::BIGINT AS pos, NULL::BIGINT AS _ducklake_internal_snapshot_id")),
      base::ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace lake::exporter

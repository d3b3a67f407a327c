#include "lakeproxy/engine/parquet/nan_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lakeproxy/engine/files/engine_fixture_test.h"
#include "lakeproxy/engine/files/scratch.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class NanCountTest : public ::testing::Test {
 protected:
  base::Result<std::map<model::FieldId, std::int64_t>> nans(const std::string& bytes,
                                                            std::vector<model::FieldId> ids) {
    auto scratch = *ScratchFolder::make(engine.folder());
    EXPECT_TRUE(append_file(scratch.file("f"), bytes));
    auto connection = *engine->connect();
    ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, scratch.file("f")));
    ASSIGN_OR_RETURN(auto columns, nan_columns(root, ids));
    return count_nans_in(*engine, scratch.file("f"), columns, kNoDeadline);
  }

  SampleEngine engine;
};

TEST_F(NanCountTest, nans_are_counted_at_every_depth) {
  std::string bytes = engine.parquet(
      "SELECT 'nan'::FLOAT AS f, {'it''s': 'nan'::DOUBLE} AS s, ['nan'::DOUBLE, 1, NULL, 'nan'] AS "
      "l, "
      "MAP {'nan'::DOUBLE: ['nan'::FLOAT, 'inf']} AS m, [{'x': [[ 'nan'::DOUBLE ], NULL]}] AS d, 1 "
      "AS "
      "i FROM range(3) UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL UNION ALL SELECT 1, "
      "{'it''s': 'inf'::DOUBLE}, [], MAP {}, [], 2",
      ", FIELD_IDS {f: 1, s: {__duckdb_field_id: 2, 'it''s': 3}, l: {__duckdb_field_id: 4, "
      "element: 5}, "
      "m: {__duckdb_field_id: 6, key: 7, value: {__duckdb_field_id: 8, element: 9}}, d: "
      "{__duckdb_field_id: 10, element: {__duckdb_field_id: 11, x: {__duckdb_field_id: 12, "
      "element: "
      "{__duckdb_field_id: 13, element: 14}}}}, i: 15}");
  auto counts = nans(bytes, {1, 3, 5, 7, 9, 14, 99});
  ASSERT_TRUE(counts) << counts.error().message() << counts.error().detail();
  EXPECT_THAT(*counts,
              ElementsAre(Pair(1, 3), Pair(3, 3), Pair(5, 6), Pair(7, 3), Pair(9, 3), Pair(14, 3)));
  EXPECT_EQ(kind_of(nans(bytes, {15})), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(nans("PAR1", {1})), ErrorKind::kCorrupt);
}

TEST_F(NanCountTest, nans_of_a_file_without_field_ids_are_not_guessed) {
  EXPECT_THAT(*nans(engine.parquet("SELECT 'nan'::FLOAT AS f"), {1}), IsEmpty());
}

}  // namespace
}  // namespace lake::exporter

#include "lakeproxy/engine/parquet/mapped_file.h"

#include "lakeproxy/engine/files/engine_fixture_test.h"

namespace lake::exporter {
namespace {

using model::Field;
using model::LakeNameMap;
using model::NameMapping;
using model::Schema;
using model::Type;
using model::TypeKind;

const Type kPoint = Type::structure({{.id = 3, .name = "x", .type = Type(TypeKind::kInt)}});
const std::vector<Schema> kSchemas = {
    {.fields = {{.id = 1, .name = "a", .type = Type(TypeKind::kLong)},
                {.id = 2, .name = "p", .type = kPoint},
                {.id = 4, .name = "l", .type = Type::list(5, Type(TypeKind::kInt), false)},
                {.id = 6, .name = "t", .type = Type(TypeKind::kTimestamp)}}}};
const LakeNameMap kLake{
    {{1, {"A"}}, {2, {"p"}}, {3, {"X"}}, {4, {"l"}}, {5, {"list"}}, {6, {"t"}}}};
const NameMapping kIceberg = {{1, {"A", "b"}, {}},
                              {2, {"p"}, {{3, {"X"}, {}}}},
                              {4, {"l"}, {{5, {"element"}, {}}}},
                              {6, {"t"}, {}}};

class MappedColumnsTest : public ::testing::Test {
 protected:
  base::Status check(const std::string& query, const std::string& options = "",
                     const LakeNameMap& lake = kLake, const NameMapping& iceberg = kIceberg) {
    ScratchFolder folder = *ScratchFolder::make(sample_.folder());
    const std::string path = folder.file("f.parquet");
    EXPECT_TRUE(write_file_at(path, 0, sample_.parquet(query, options)));
    auto connection = *sample_->connect();
    auto root = read_parquet_tree(connection, path);
    if (!root) return root.error();
    return check_columns(*root, {&lake, &iceberg, &kSchemas, kSchemas.data()});
  }

  void refuses(const std::string& query, const std::string& word, const std::string& options = "",
               const LakeNameMap& lake = kLake, const NameMapping& iceberg = kIceberg) {
    auto done = check(query, options, lake, iceberg);
    ASSERT_FALSE(done) << query;
    EXPECT_EQ(done.error().kind(), base::ErrorKind::kUnsupported) << query;
    EXPECT_NE(done.error().message().find(word), std::string::npos) << done.error().message();
  }

  SampleEngine sample_;
};

TEST_F(MappedColumnsTest, takes_columns_that_both_find_by_name) {
  auto whole =
      check("SELECT TIMESTAMP '2026-01-01' AS t, 1::INTEGER AS A, {'X': 2} AS p, [3, NULL] AS l");
  EXPECT_TRUE(whole) << whole.error().message();
  EXPECT_TRUE(check("SELECT 1::BIGINT AS A"));
}

TEST_F(MappedColumnsTest, takes_field_ids_that_say_the_same) {
  EXPECT_TRUE(check("SELECT 1::BIGINT AS A, {'X': 2} AS p",
                    ", FIELD_IDS {A: 1, p: {__duckdb_field_id: 2, X: 3}}"));
}

TEST_F(MappedColumnsTest, refuses_field_ids_that_say_another_thing) {
  refuses("SELECT 1::BIGINT AS A", "another column of the table by its field id",
          ", FIELD_IDS {A: 6}");
  refuses("SELECT 1::BIGINT AS A, 2 AS m", "'m' is a column of the table by its field id alone",
          ", FIELD_IDS {A: 1, m: 9}");
  refuses("SELECT 1::BIGINT AS A, 2 AS m", "'m' has no field id", ", FIELD_IDS {A: 1}");
}

TEST_F(MappedColumnsTest, refuses_names_that_mean_something_in_other_files) {
  refuses("SELECT 1::BIGINT AS A, 2 AS b",
          "'b' is a column of the table by the names of other files");
  refuses("SELECT {'X': 2, 'Y': 3} AS p", "'p.Y'", "", kLake,
          {{2, {"p"}, {{3, {"X"}, {}}, {7, {"Y"}, {}}}}});
  LakeNameMap in_path = kLake;
  in_path.columns[1].in_path = true;
  refuses("SELECT 1::BIGINT AS A", "'A' is a column of the table", "", in_path);
}

TEST_F(MappedColumnsTest, refuses_columns_that_are_none_of_the_tables) {
  refuses("SELECT 1::BIGINT AS A, 5 AS nobodys", "'nobodys' is none of the table's");
}

TEST_F(MappedColumnsTest, refuses_names_that_differ_by_case_alone) {
  const ParquetNode leaf{.name = "A", .physical_type = "INT64", .engine_type = "BIGINT"};
  ParquetNode other = leaf;
  other.name = "a";
  const ParquetNode root{.shape = ParquetShape::kStruct, .children = {leaf, other}};
  auto done = check_columns(root, {&kLake, &kIceberg, &kSchemas, kSchemas.data()});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("by case alone"), std::string::npos);
}

TEST_F(MappedColumnsTest, refuses_types_that_readers_misread) {
  for (const std::string type : {"UTINYINT", "USMALLINT", "UINTEGER"}) {
    refuses("SELECT 1::" + type + " AS A", "'A' of type " + type + " is not read as long");
  }
  refuses("SELECT 'x' AS A", "VARCHAR");
  refuses("SELECT TIMESTAMP_MS '2026-01-01' AS t", "'t' of type");
  refuses("SELECT TIMESTAMP_NS '2026-01-01' AS t", "'t' of type");
  refuses("SELECT 1 AS p", "'p' is not a struct");
  refuses("SELECT {'X': 'x'} AS p", "'p.X' of type VARCHAR");
  refuses("SELECT ['x'] AS l", "'l.element' of type VARCHAR");
  refuses("SELECT 1 AS l", "list or map");
}

}  // namespace
}  // namespace lake::exporter

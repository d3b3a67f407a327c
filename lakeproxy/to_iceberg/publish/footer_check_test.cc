#include "lakeproxy/to_iceberg/publish/footer_check.h"

#include <gtest/gtest.h>

namespace lake::publish {
namespace {

using ducklake::ColumnsWithNull;
using model::DataFileId;
using model::LakeDataFile;
using model::SnapshotId;

model::Schema schema(std::int32_t id, bool required) {
  return {.schema_id = id,
          .fields = {{.id = 1,
                      .name = "a",
                      .type = model::Type(model::TypeKind::kInt),
                      .required = required}}};
}

// Column 1 is required but from snapshot 4 to 6.
model::LakeTable table() {
  model::LakeTable table{.table_id = model::TableId(1)};
  table.metadata.schemas = {schema(0, true), schema(1, false)};
  table.name_maps[8].columns[1] = {.name = "a", .in_path = true};
  table.schema_at = {{SnapshotId(1), 0}, {SnapshotId(4), 1}, {SnapshotId(7), 0}};
  return table;
}

LakeDataFile added_file(std::int64_t begin, std::optional<std::int64_t> null_count) {
  LakeDataFile file{
      .id = DataFileId(1), .begin = SnapshotId(begin), .path = "s3://b/f.parquet", .mapping_id = 9};
  if (null_count) file.stats = {{.column_id = 1, .null_count = null_count}};
  return file;
}

// Snapshots from 3 on are pending.
ColumnsWithNull found_in(const LakeDataFile& file, const Manifests& published = {}) {
  model::LakeChanges changes{.after = SnapshotId(2), .up_to = SnapshotId(9)};
  changes.commits = {{.snapshot = SnapshotId(3)}, {.snapshot = SnapshotId(9)}};
  changes.data_files.emplace(file.id, file);
  return required_with_null(table(), published, changes);
}

LakeDataFile ended(LakeDataFile file, std::int64_t end) {
  file.end = SnapshotId(end);
  return file;
}

TEST(RequiredWithNull, is_found_from_the_first_snapshot_on_that_shows_both) {
  EXPECT_EQ(found_in(added_file(3, 1)), (ColumnsWithNull{{1, SnapshotId(3)}}));
  EXPECT_EQ(found_in(added_file(3, std::nullopt)), (ColumnsWithNull{{1, SnapshotId(3)}}))
      << "nothing says that it holds none";
  LakeDataFile in_path = added_file(3, 0);
  in_path.mapping_id = 8;
  EXPECT_EQ(found_in(in_path), (ColumnsWithNull{{1, SnapshotId(3)}})) << "it is not in the file";
  EXPECT_EQ(found_in(added_file(5, 1)), (ColumnsWithNull{{1, SnapshotId(7)}}));
}

TEST(RequiredWithNull, counts_in_no_file_without_null_nor_where_the_column_is_optional) {
  EXPECT_TRUE(found_in(added_file(3, 0)).empty());
  EXPECT_TRUE(found_in(ended(added_file(4, 1), 7)).empty());
  EXPECT_EQ(found_in(ended(added_file(4, 1), 8)), (ColumnsWithNull{{1, SnapshotId(7)}}));
  LakeDataFile own = added_file(3, 1);
  own.mapping_id.reset();
  EXPECT_TRUE(found_in(own).empty()) << "DuckDB writes none itself";
  LakeDataFile clients = added_file(3, 1);
  clients.iceberg.emplace();
  EXPECT_TRUE(found_in(clients).empty()) << "who vouches for it";
}

TEST(RequiredWithNull, parts_of_columns_may_hold_it_in_all_that_duckdb_writes) {
  using model::Type;
  const Type number(model::TypeKind::kInt);
  model::LakeTable table;
  table.metadata.schemas = {
      {.schema_id = 0,
       .fields = {
           {.id = 1,
            .name = "s",
            .type = Type::structure({{.id = 2, .name = "x", .type = number, .required = true}})},
           {.id = 3, .name = "m", .type = Type::map(4, number, 5, number, true)}}}};
  table.schema_at = {{SnapshotId(1), 0}};
  LakeDataFile file{.id = DataFileId(1), .begin = SnapshotId(4), .path = "s3://b/f.parquet"};
  const auto found = [&](const auto& change) {
    model::LakeChanges changes{.after = SnapshotId(2), .up_to = SnapshotId(9)};
    changes.commits = {{.snapshot = SnapshotId(3)}, {.snapshot = SnapshotId(9)}};
    change(changes);
    return required_with_null(table, {}, changes);
  };
  const auto with_file = [&](model::LakeChanges& changes) {
    changes.data_files.emplace(file.id, file);
  };
  EXPECT_EQ(found(with_file), (ColumnsWithNull{{2, SnapshotId(4)}, {5, SnapshotId(4)}}));
  file.stats = {{.column_id = 2, .null_count = 0}, {.column_id = 5, .null_count = 1}};
  EXPECT_EQ(found(with_file), (ColumnsWithNull{{5, SnapshotId(4)}}));
  file.iceberg.emplace();
  EXPECT_TRUE(found(with_file).empty()) << "a client vouches for its own";
  const auto with_row = [](std::int64_t begin) {
    return [begin](model::LakeChanges& changes) {
      changes.inlined = {{.rows = {{.begin = SnapshotId(begin)}}}};
    };
  };
  EXPECT_EQ(found(with_row(9)), (ColumnsWithNull{{2, SnapshotId(9)}, {5, SnapshotId(9)}}));
  EXPECT_TRUE(found(with_row(1)).empty()) << "it was shown before";
}

}  // namespace
}  // namespace lake::publish

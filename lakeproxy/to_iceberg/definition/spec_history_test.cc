#include "lakeproxy/to_iceberg/definition/spec_history.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using model::PartitionField;
using model::PartitionSpec;
using model::SnapshotId;
using model::TransformKind;

const LakeColumns kColumns{
    .columns = {{.id = 1, .begin = SnapshotId(1), .name = "i", .type = "int32"},
                {.id = 2, .begin = SnapshotId(1), .name = "ts", .type = "timestamp"},
                {.id = 3, .begin = SnapshotId(1), .name = "u", .type = "uuid"},
                {.id = 4, .begin = SnapshotId(1), .name = "ts_day", .type = "varchar"}}};

LakePartition partition(std::int64_t id, std::int64_t begin, std::vector<LakePartitionKey> keys,
                        std::optional<std::int64_t> end = std::nullopt) {
  LakePartition row{.partition_id = id, .begin = SnapshotId(begin), .keys = std::move(keys)};
  if (end) row.end = SnapshotId(*end);
  return row;
}

PartitionField field(model::FieldId source, std::int32_t id, std::string name, TransformKind kind,
                     std::int32_t parameter = 0) {
  return {.source_id = source,
          .field_id = id,
          .name = std::move(name),
          .transform = {.kind = kind, .parameter = parameter}};
}

ClientSpec client(std::int32_t id, std::int64_t begin, std::vector<PartitionField> fields,
                  std::optional<std::int64_t> partition_id = std::nullopt, bool is_default = true) {
  return {.begin = SnapshotId(begin),
          .partition_id = partition_id,
          .is_default = is_default,
          .spec = {.spec_id = id, .fields = std::move(fields)}};
}

TEST(SpecHistory, a_table_of_duckdb_begins_unpartitioned) {
  const SpecHistory history = spec_history(kColumns, {}, {});
  EXPECT_EQ(history.specs, (std::vector<PartitionSpec>{{.spec_id = 0}}));
  EXPECT_EQ(history.default_spec_id, 0);
  EXPECT_EQ(history.unpartitioned_spec_id, 0);
  EXPECT_EQ(history.last_partition_id, 999);
}

TEST(SpecHistory, names_and_numbers_what_duckdb_set) {
  const SpecHistory history = spec_history(
      kColumns, {partition(9, 4, {{0, 1, "bucket(8)"}, {1, 2, "day"}, {2, 1, "identity"}})}, {});
  ASSERT_EQ(history.specs.size(), 2);
  EXPECT_EQ(history.specs[1].fields,
            (std::vector<PartitionField>{field(1, 1000, "i_bucket", TransformKind::kBucket, 8),
                                         field(2, 1001, "ts_day_2", TransformKind::kDay),
                                         field(1, 1002, "i", TransformKind::kIdentity)}))
      << "a column is called ts_day";
  EXPECT_EQ(history.default_spec_id, 1);
  EXPECT_EQ(history.unpartitioned_spec_id, 0);
  EXPECT_EQ(history.last_partition_id, 1002);
  EXPECT_EQ(history.spec_of_partition.at(9), 1);
}

TEST(SpecHistory, leaves_out_buckets_that_are_not_icebergs) {
  const SpecHistory history =
      spec_history(kColumns, {partition(9, 4, {{0, 3, "bucket(4)"}, {1, 1, "identity"}})}, {});
  ASSERT_EQ(history.specs.size(), 2);
  EXPECT_EQ(history.specs[1].fields,
            (std::vector<PartitionField>{field(1, 1000, "i", TransformKind::kIdentity)}));
  EXPECT_EQ(history.keys_of_partition.at(9), (model::PartitionKeys{.count = 2, .of_field = {1}}));
}

TEST(SpecHistory, a_clients_bucket_that_the_lake_hashes_otherwise_has_no_values_there) {
  const auto bucket = field(3, 1000, "id", TransformKind::kBucket, 4);
  const SpecHistory history =
      spec_history(kColumns, {partition(9, 4, {{0, 3, "bucket(4)"}})}, {client(1, 4, {bucket}, 9)});
  EXPECT_EQ(history.spec_of_partition.at(9), 1);
  EXPECT_EQ(history.keys_of_partition.at(9).of_field,
            (std::vector<std::optional<std::int64_t>>{std::nullopt}));
}

TEST(SpecHistory, nothing_to_show_is_unpartitioned) {
  for (const char* transform : {"bucket(4)", "epoch_day", "bucket(0)", "year"}) {
    const SpecHistory history = spec_history(kColumns, {partition(9, 4, {{0, 3, transform}})}, {});
    EXPECT_EQ(history.specs.size(), 1) << transform;
    EXPECT_EQ(history.spec_of_partition.at(9), 0);
  }
}

TEST(SpecHistory, the_end_of_partitioning_makes_the_unpartitioned_spec_default) {
  // DuckDB writes a row without columns; a row that only ends means the same.
  for (bool row_without_columns : {true, false}) {
    std::vector<LakePartition> partitions{partition(9, 4, {{0, 1, "identity"}}, 6)};
    if (row_without_columns) partitions.push_back(partition(10, 6, {}));
    const SpecHistory history = spec_history(kColumns, partitions, {});
    EXPECT_EQ(history.specs.size(), 2);
    EXPECT_EQ(history.default_spec_id, 0);
  }
}

TEST(SpecHistory, a_client_s_spec_of_a_column_that_duckdb_dropped_or_widened_is_not_the_default) {
  // The lake does not know of the bucket, and lets its column go.
  LakeColumns columns = kColumns;
  const std::vector<ClientSpec> clients{
      client(0, 1, {field(1, 1000, "i_bucket", TransformKind::kBucket, 3)})};
  EXPECT_EQ(spec_history(columns, {}, clients).default_spec_id, 0);
  columns.columns[0].type = "float64";
  EXPECT_EQ(spec_history(columns, {}, clients).default_spec_id, 1);
  columns.columns[0].end = SnapshotId(3);
  const SpecHistory history = spec_history(columns, {}, clients);
  EXPECT_EQ(history.default_spec_id, 1);
  EXPECT_EQ(history.unpartitioned_spec_id, 1);
  EXPECT_EQ(history.specs.size(), 2) << "its files are still of it";
}

TEST(SpecHistory, the_same_partitioning_again_is_the_same_spec) {
  const SpecHistory history =
      spec_history(kColumns,
                   {partition(9, 4, {{0, 1, "identity"}}, 6), partition(10, 6, {{0, 2, "year"}}, 8),
                    partition(11, 8, {{0, 1, "identity"}})},
                   {});
  EXPECT_EQ(history.specs.size(), 3);
  EXPECT_EQ(history.default_spec_id, 1);
  EXPECT_EQ(history.spec_of_partition.at(11), 1);
}

TEST(SpecHistory, clients_ids_count) {
  const auto day = field(2, 1000, "d", TransformKind::kDay);
  const SpecHistory history = spec_history(
      kColumns,
      {partition(9, 1, {{0, 2, "day"}}, 5), partition(10, 5, {{0, 2, "day"}, {1, 1, "identity"}})},
      {client(0, 1, {day}, 9)});
  ASSERT_EQ(history.specs.size(), 3);
  EXPECT_EQ(history.specs[0].fields, std::vector<PartitionField>{day});
  EXPECT_EQ(history.specs[1], (PartitionSpec{.spec_id = 1})) << "files of many days stand there";
  EXPECT_EQ(history.specs[2].spec_id, 2);
  EXPECT_EQ(history.specs[2].fields[0], day) << "equal source and transform keep id and name";
  EXPECT_EQ(history.specs[2].fields[1].field_id, 1001);
  EXPECT_EQ(history.unpartitioned_spec_id, 1);
  EXPECT_EQ(history.default_spec_id, 2);
}

TEST(SpecHistory, a_spec_that_a_client_took_up_later_keeps_its_id) {
  // Spec 1 was shown, not stored; a client then made it the default.
  const auto day = field(2, 1000, "d", TransformKind::kDay);
  const SpecHistory history = spec_history(kColumns, {partition(9, 1, {{0, 2, "day"}}, 7)},
                                           {client(0, 1, {day}, 9), client(1, 7, {})});
  ASSERT_EQ(history.specs.size(), 2);
  EXPECT_EQ(history.default_spec_id, 1);
  EXPECT_EQ(history.unpartitioned_spec_id, 1);
}

TEST(SpecHistory, a_clients_later_name_is_not_that_of_what_was_shown_before) {
  // DuckDB's bucket was shown as spec 1; a client took it away, and came back to it under another
  // name.
  const SpecHistory history = spec_history(
      kColumns, {partition(9, 4, {{0, 1, "bucket(4)"}}, 6)},
      {client(0, 6, {}), client(2, 7, {field(1, 1000, "mine", TransformKind::kBucket, 4)})});
  ASSERT_EQ(history.specs.size(), 3);
  EXPECT_EQ(history.spec_of_partition.at(9), 1);
  EXPECT_EQ(history.specs[1],
            (PartitionSpec{.spec_id = 1,
                           .fields = {field(1, 1000, "i_bucket", TransformKind::kBucket, 4)}}));
  EXPECT_EQ(history.default_spec_id, 2);
}

TEST(SpecHistory, columns_of_paths_have_a_spec_that_is_no_default) {
  const PathColumns path{.mapping_id = 20, .begin = SnapshotId(5), .column_ids = {1, 3}};
  const auto i = field(1, 1000, "i", TransformKind::kIdentity);
  const auto u = field(3, 1001, "u", TransformKind::kIdentity);
  const SpecHistory history =
      spec_history(kColumns, {partition(9, 8, {{0, 3, "identity"}})}, {}, {path});
  ASSERT_EQ(history.specs.size(), 3);
  EXPECT_EQ(history.specs[1], (PartitionSpec{.spec_id = 1, .fields = {i, u}}));
  EXPECT_EQ(history.specs[2], (PartitionSpec{.spec_id = 2, .fields = {u}})) << "its field is known";
  EXPECT_EQ(history.spec_of_mapping, (std::map<std::int64_t, std::int32_t>{{20, 1}}));
  EXPECT_EQ(history.default_spec_id, 2);
  EXPECT_EQ(history.unpartitioned_spec_id, 0);
}

TEST(SpecHistory, columns_of_paths_share_the_spec_of_a_partitioning_by_them) {
  const SpecHistory history =
      spec_history(kColumns, {partition(9, 4, {{0, 3, "identity"}, {1, 1, "identity"}})}, {},
                   {{.mapping_id = 20, .begin = SnapshotId(4), .column_ids = {1, 3}},
                    {.mapping_id = 21, .begin = SnapshotId(6), .column_ids = {1}},
                    {.mapping_id = 22, .begin = SnapshotId(7), .column_ids = {1, 99}}});
  EXPECT_EQ(history.specs.size(), 3);
  EXPECT_EQ(history.spec_of_mapping, (std::map<std::int64_t, std::int32_t>{{20, 1}, {21, 2}}))
      << "the last has a column that nobody knows";
  EXPECT_EQ(history.default_spec_id, 1);
}

TEST(SpecHistory, a_spec_that_is_not_the_default_is_only_listed) {
  const SpecHistory history = spec_history(
      kColumns, {},
      {client(0, 1, {}),
       client(1, 3, {field(1, 1000, "t", TransformKind::kTruncate, 4)}, std::nullopt, false)});
  EXPECT_EQ(history.specs.size(), 2);
  EXPECT_EQ(history.default_spec_id, 0);
  EXPECT_EQ(history.last_partition_id, 1000);
}

}  // namespace
}  // namespace lake::ducklake

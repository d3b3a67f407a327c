#include "lakeproxy/to_iceberg/definition/spec_ids.h"

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

// A spec that a client's commit has stored.
struct ClientSpec {
  SnapshotId begin;
  std::optional<std::int64_t> partition_id;
  bool is_default = true;
  PartitionSpec spec;
};

ClientSpec client(std::int32_t id, std::int64_t begin, std::vector<PartitionField> fields,
                  std::optional<std::int64_t> partition_id = std::nullopt, bool is_default = true) {
  return {.begin = SnapshotId(begin),
          .partition_id = partition_id,
          .is_default = is_default,
          .spec = {.spec_id = id, .fields = std::move(fields)}};
}

AssignedIds stored(const std::vector<ClientSpec>& clients) {
  AssignedIds ids;
  for (const ClientSpec& client : clients) {
    ids.specs[client.spec.spec_id] = client.spec;
    if (client.is_default) ids.default_at[client.begin] = client.spec.spec_id;
    if (client.partition_id) ids.spec_of_partition[*client.partition_id] = client.spec.spec_id;
  }
  return ids;
}

// What clients see.
struct Shown : SpecUse {
  std::vector<PartitionSpec> specs;
  AssignedIds ids;
  std::map<std::int64_t, std::int32_t> spec_of_partition, spec_of_mapping;
};

Shown shown(const LakeColumns& columns, std::vector<LakePartition> partitions, AssignedIds ids,
            std::vector<PathColumns> paths = {},
            std::int32_t last_partition_id = model::kNoPartitionFieldId) {
  Shown result{
      assign_specs({columns, std::move(partitions), std::move(paths), last_partition_id}, ids),
      {},
      {},
      ids.spec_of_partition,
      ids.spec_of_mapping};
  for (const auto& [id, spec] : ids.specs) result.specs.push_back(spec);
  result.ids = std::move(ids);
  return result;
}

Shown spec_history(const LakeColumns& columns, std::vector<LakePartition> partitions,
                   const std::vector<ClientSpec>& clients, std::vector<PathColumns> paths = {}) {
  return shown(columns, std::move(partitions), stored(clients), std::move(paths));
}

TEST(SpecIds, a_table_of_duckdb_begins_unpartitioned) {
  const Shown history = spec_history(kColumns, {}, {});
  EXPECT_EQ(history.specs, (std::vector<PartitionSpec>{{.spec_id = 0}}));
  EXPECT_EQ(history.default_spec_id, 0);
  EXPECT_EQ(history.unpartitioned_spec_id, 0);
  EXPECT_EQ(history.last_partition_id, 999);
}

TEST(SpecIds, names_and_numbers_what_duckdb_set) {
  const Shown history = spec_history(
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

TEST(SpecIds, leaves_out_buckets_that_are_not_icebergs) {
  const Shown history =
      spec_history(kColumns, {partition(9, 4, {{0, 3, "bucket(4)"}, {1, 1, "identity"}})}, {});
  ASSERT_EQ(history.specs.size(), 2);
  EXPECT_EQ(history.specs[1].fields,
            (std::vector<PartitionField>{field(1, 1000, "i", TransformKind::kIdentity)}));
  EXPECT_EQ(history.keys_of_partition.at(9), (model::PartitionKeys{.count = 2, .of_field = {1}}));
}

TEST(SpecIds, a_clients_bucket_that_the_lake_hashes_otherwise_has_no_values_there) {
  const auto bucket = field(3, 1000, "id", TransformKind::kBucket, 4);
  const Shown history =
      spec_history(kColumns, {partition(9, 4, {{0, 3, "bucket(4)"}})}, {client(1, 4, {bucket}, 9)});
  EXPECT_EQ(history.spec_of_partition.at(9), 1);
  EXPECT_EQ(history.keys_of_partition.at(9).of_field,
            (std::vector<std::optional<std::int64_t>>{std::nullopt}));
}

TEST(SpecIds, nothing_to_show_is_unpartitioned) {
  for (const char* transform : {"bucket(4)", "epoch_day", "bucket(0)", "year"}) {
    const Shown history = spec_history(kColumns, {partition(9, 4, {{0, 3, transform}})}, {});
    EXPECT_EQ(history.specs.size(), 1) << transform;
    EXPECT_EQ(history.spec_of_partition.at(9), 0);
  }
}

TEST(SpecIds, the_end_of_partitioning_makes_the_unpartitioned_spec_default) {
  // DuckDB writes a row without columns; a row that only ends means the same.
  for (bool row_without_columns : {true, false}) {
    std::vector<LakePartition> partitions{partition(9, 4, {{0, 1, "identity"}}, 6)};
    if (row_without_columns) partitions.push_back(partition(10, 6, {}));
    const Shown history = spec_history(kColumns, partitions, {});
    EXPECT_EQ(history.specs.size(), 2);
    EXPECT_EQ(history.default_spec_id, 0);
  }
}

TEST(SpecIds, a_client_s_spec_of_a_column_that_duckdb_dropped_or_widened_is_not_the_default) {
  // The lake does not know of the bucket, and lets its column go.
  LakeColumns columns = kColumns;
  const std::vector<ClientSpec> clients{
      client(0, 1, {field(1, 1000, "i_bucket", TransformKind::kBucket, 3)})};
  EXPECT_EQ(spec_history(columns, {}, clients).default_spec_id, 0);
  columns.columns[0].type = "float64";
  EXPECT_EQ(spec_history(columns, {}, clients).default_spec_id, 1);
  columns.columns[0].end = SnapshotId(3);
  const Shown history = spec_history(columns, {}, clients);
  EXPECT_EQ(history.default_spec_id, 1);
  EXPECT_EQ(history.unpartitioned_spec_id, 1);
  EXPECT_EQ(history.specs.size(), 2) << "its files are still of it";
}

TEST(SpecIds, the_same_partitioning_again_is_the_same_spec) {
  const Shown history =
      spec_history(kColumns,
                   {partition(9, 4, {{0, 1, "identity"}}, 6), partition(10, 6, {{0, 2, "year"}}, 8),
                    partition(11, 8, {{0, 1, "identity"}})},
                   {});
  EXPECT_EQ(history.specs.size(), 3);
  EXPECT_EQ(history.default_spec_id, 1);
  EXPECT_EQ(history.spec_of_partition.at(11), 1);
}

TEST(SpecIds, clients_ids_count) {
  const auto day = field(2, 1000, "d", TransformKind::kDay);
  const Shown history = spec_history(
      kColumns,
      {partition(9, 1, {{0, 2, "day"}}, 5), partition(10, 5, {{0, 2, "day"}, {1, 1, "identity"}})},
      {client(0, 1, {day}, 9)});
  ASSERT_EQ(history.specs.size(), 2);
  EXPECT_EQ(history.specs[0].fields, std::vector<PartitionField>{day});
  EXPECT_EQ(history.specs[1].spec_id, 1);
  EXPECT_EQ(history.specs[1].fields[0], day) << "equal source and transform keep id and name";
  EXPECT_EQ(history.specs[1].fields[1].field_id, 1001);
  EXPECT_EQ(history.unpartitioned_spec_id, std::nullopt) << "no file needs it";
  EXPECT_EQ(history.default_spec_id, 1);
}

TEST(SpecIds, columns_of_paths_have_a_spec_that_is_no_default) {
  const PathColumns path{.mapping_id = 20, .begin = SnapshotId(5), .column_ids = {1, 3}};
  const auto i = field(1, 1000, "i", TransformKind::kIdentity);
  const auto u = field(3, 1001, "u", TransformKind::kIdentity);
  const Shown history = spec_history(kColumns, {partition(9, 8, {{0, 3, "identity"}})}, {}, {path});
  ASSERT_EQ(history.specs.size(), 3);
  EXPECT_EQ(history.specs[1], (PartitionSpec{.spec_id = 1, .fields = {i, u}}));
  EXPECT_EQ(history.specs[2], (PartitionSpec{.spec_id = 2, .fields = {u}})) << "its field is known";
  EXPECT_EQ(history.spec_of_mapping, (std::map<std::int64_t, std::int32_t>{{20, 1}}));
  EXPECT_EQ(history.default_spec_id, 2);
  EXPECT_EQ(history.unpartitioned_spec_id, 0);
}

TEST(SpecIds, columns_of_paths_share_the_spec_of_a_partitioning_by_them) {
  const Shown history =
      spec_history(kColumns, {partition(9, 4, {{0, 3, "identity"}, {1, 1, "identity"}})}, {},
                   {{.mapping_id = 20, .begin = SnapshotId(4), .column_ids = {1, 3}},
                    {.mapping_id = 21, .begin = SnapshotId(6), .column_ids = {1}},
                    {.mapping_id = 22, .begin = SnapshotId(7), .column_ids = {1, 99}}});
  EXPECT_EQ(history.specs.size(), 3);
  EXPECT_EQ(history.spec_of_mapping, (std::map<std::int64_t, std::int32_t>{{20, 1}, {21, 2}}))
      << "the last has a column that nobody knows";
  EXPECT_EQ(history.default_spec_id, 1);
}

TEST(SpecIds, a_spec_that_is_not_the_default_is_only_listed) {
  const Shown history = spec_history(
      kColumns, {},
      {client(0, 1, {}),
       client(1, 3, {field(1, 1000, "t", TransformKind::kTruncate, 4)}, std::nullopt, false)});
  EXPECT_EQ(history.specs.size(), 2);
  EXPECT_EQ(history.default_spec_id, 0);
  EXPECT_EQ(history.last_partition_id, 1000);
}

TEST(SpecIds, a_clients_first_spec_of_an_unpartitioned_table_is_1) {
  AssignedIds ids = spec_history(kColumns, {}, {}).ids;
  ids.specs[1] = {.spec_id = 1, .fields = {field(1, 1000, "i", TransformKind::kIdentity)}};
  ids.default_at[SnapshotId(5)] = 1;
  ids.spec_of_partition[9] = 1;
  const Shown after = shown(kColumns, {partition(9, 5, {{0, 1, "identity"}})}, ids);
  EXPECT_EQ(after.ids, ids) << "nothing is left to be assigned";
  EXPECT_EQ(after.default_spec_id, 1);
  EXPECT_EQ(after.unpartitioned_spec_id, 0);
}

TEST(SpecIds, what_duckdb_set_gets_the_next_id_once) {
  const std::vector<LakePartition> partitions{partition(9, 4, {{0, 1, "identity"}}, 6),
                                              partition(10, 6, {{0, 2, "year"}})};
  const Shown first = shown(kColumns, partitions, {});
  EXPECT_EQ(first.default_spec_id, 2);
  const Shown again = shown(kColumns, partitions, first.ids);
  EXPECT_EQ(again.ids, first.ids);
  std::vector<LakePartition> back = partitions;
  back[1].end = SnapshotId(8);
  back.push_back(partition(11, 8, {{0, 1, "identity"}}));
  const Shown returned = shown(kColumns, back, first.ids);
  EXPECT_EQ(returned.default_spec_id, 1);
  EXPECT_EQ(returned.specs, first.specs);
}

TEST(SpecIds, partition_fields_are_numbered_above_the_last_that_was_ever_given) {
  AssignedIds ids = spec_history(kColumns, {}, {}).ids;
  const Shown after = shown(kColumns, {partition(9, 4, {{0, 1, "identity"}})}, ids, {}, 1007);
  EXPECT_EQ(after.specs.at(1).fields.at(0).field_id, 1008);
  EXPECT_EQ(after.last_partition_id, 1008);
}

TEST(SpecIds, the_newest_of_client_and_duckdb_says_what_is_the_default) {
  AssignedIds ids = spec_history(kColumns, {}, {}).ids;
  ids.specs[1] = {.spec_id = 1, .fields = {field(1, 1000, "t", TransformKind::kTruncate, 4)}};
  ids.default_at[SnapshotId(6)] = 1;
  struct Case {
    const char* what;
    std::vector<LakePartition> partitions;
    std::int32_t shown;
  };
  for (const Case& c : {
           Case{"the client's alone", {}, 1},
           Case{"DuckDB's ended with the client's change", {partition(9, 3, {}, 6)}, 1},
           Case{"DuckDB's older one shows nothing", {partition(9, 3, {{0, 3, "bucket(4)"}})}, 1},
           Case{"DuckDB set one since", {partition(9, 7, {{0, 1, "identity"}})}, 2},
           Case{"under the same number", {partition(9, 6, {{0, 1, "identity"}})}, 2},
           Case{"and took it away", {partition(9, 7, {{0, 1, "identity"}}, 8)}, 0},
       }) {
    EXPECT_EQ(shown(kColumns, c.partitions, ids).default_spec_id, c.shown) << c.what;
  }
}

// A lake that was migrated to 1.1 may have both of one column.
TEST(SpecIds, calendar_parts_and_numbers_since_1970_are_told_apart) {
  const Shown both =
      shown(kColumns,
            {partition(5, 2, {{0, 2, "year"}}, 4), partition(6, 4, {{0, 2, "epoch_year"}})}, {});
  EXPECT_EQ(both.spec_of_partition.at(5), both.spec_of_partition.at(6)) << "one spec of Iceberg";
  EXPECT_EQ(both.keys_of_partition.at(5), (model::PartitionKeys{.count = 1, .of_field = {0}}));
  EXPECT_EQ(both.keys_of_partition.at(6),
            (model::PartitionKeys{.count = 1, .of_field = {0}, .ordinals = {0}}));

  const Shown at_once = shown(
      kColumns, {partition(5, 2, {{0, 2, "year"}, {1, 1, "identity"}, {2, 2, "epoch_year"}})}, {});
  const PartitionSpec& spec = at_once.specs.at(1);
  ASSERT_EQ(spec.fields.size(), 2U) << "Iceberg has the transform of a column once";
  EXPECT_EQ(at_once.keys_of_partition.at(5),
            (model::PartitionKeys{.count = 3, .of_field = {2, 1}, .ordinals = {0}}));
}

}  // namespace
}  // namespace lake::ducklake

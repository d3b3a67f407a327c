// Snapshots, schemas and specs that a client takes away, and statistics files.

#include <gtest/gtest.h>

#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/table_metadata_json.h"
#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::model {
namespace {

using base::ErrorKind;

Field column(FieldId id, std::string name) {
  return {.id = id, .name = std::move(name), .type = Type(TypeKind::kLong)};
}

/// Schemas 0 to 2 with so many columns more, specs 0 (none), 1 and 2 (identity of
/// a column each); the last schema and spec 1 are current; snapshots 5, 7 and 9.
TableMetadata table() {
  TableMetadata t;
  t.location = "s3://b/t";
  t.last_column_id = 3;
  for (std::int32_t id : {0, 1, 2}) {
    Schema schema{.schema_id = id, .fields = {column(1, "a")}};
    if (id > 0) schema.fields.push_back(column(2, "b"));
    if (id > 1) schema.fields.push_back(column(3, "c"));
    t.schemas.push_back(schema);
  }
  t.current_schema_id = 2;
  const Transform identity = parse_transform("identity");
  t.partition_specs = {{0, {}}, {1, {{1, 1000, "a", identity}}}, {2, {{2, 1001, "b", identity}}}};
  t.default_spec_id = 1;
  t.last_partition_id = 1001;
  t.sort_orders.push_back({});
  for (std::int64_t id : {5, 7, 9}) {
    t.snapshots.push_back(Snapshot{.snapshot_id = SnapshotId(id), .timestamp_ms = id});
    t.snapshot_log.push_back({id, SnapshotId(id)});
  }
  t.current_snapshot_id = SnapshotId(9);
  t.refs["main"] = {.snapshot_id = SnapshotId(9)};
  t.refs["v"] = {.snapshot_id = SnapshotId(7), .type = RefType::kTag};
  return t;
}

std::vector<std::int32_t> ids_in(const TableMetadata& t, const char* list, const char* id) {
  const auto json = base::json::parse(write_metadata(t)).value();
  std::vector<std::int32_t> ids;
  for (const auto& item : json.as_object().at(list).as_array()) {
    ids.push_back(static_cast<std::int32_t>(item.as_object().at(id).as_int64()));
  }
  return ids;
}
std::vector<std::int32_t> schemas(const TableMetadata& t) {
  return ids_in(t, "schemas", "schema-id");
}
std::vector<std::int32_t> specs(const TableMetadata& t) {
  return ids_in(t, "partition-specs", "spec-id");
}
using Ids = std::vector<std::int32_t>;

TEST(RemoveSchemas, they_are_kept_and_not_shown) {
  TableMetadata t = table();
  ASSERT_TRUE(remove_schemas(t, {0, 77}));
  EXPECT_EQ(schemas(t), (Ids{1, 2}));
  EXPECT_NE(t.find_schema(0), nullptr);
  EXPECT_FALSE(t.shows_schema(0));
  EXPECT_FALSE(t.shows_schema(77));
  EXPECT_EQ(set_current_schema(t, 0).error().kind(), ErrorKind::kInvalid);
}

TEST(RemoveSchemas, the_current_one_is_refused_and_nothing_is_half_done) {
  TableMetadata t = table();
  EXPECT_EQ(remove_schemas(t, {0, 2}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(schemas(t), (Ids{0, 1, 2}));
}

TEST(RemoveSchemas, one_that_comes_back_has_its_id_and_others_get_new_ones) {
  TableMetadata t = table();
  ASSERT_TRUE(set_current_schema(t, 0));
  ASSERT_TRUE(remove_schemas(t, {1, 2}));
  Schema other{.fields = {column(1, "a"), column(4, "d")}};
  EXPECT_EQ(add_schema(t, other, SchemaCheck::kEvolution).value(), 3);
  EXPECT_EQ(add_schema(t, *t.find_schema(1), SchemaCheck::kEvolution).value(), 1);
  EXPECT_EQ(schemas(t), (Ids{0, 1, 3}));
}

TEST(RemoveSpecs, they_are_kept_and_not_shown) {
  TableMetadata t = table();
  ASSERT_TRUE(remove_specs(t, {0, 2, 9}, 40));
  EXPECT_EQ(specs(t), (Ids{1}));
  EXPECT_NE(t.find_spec(2), nullptr);
  EXPECT_FALSE(t.shows_spec(2));
  EXPECT_EQ(t.out_of_sight.specs, (std::map<std::int32_t, std::int64_t>{{0, 40}, {2, 40}}));
  EXPECT_EQ(set_default_spec(t, 2).error().kind(), ErrorKind::kInvalid);
}

TEST(RemoveSpecs, the_default_is_refused_and_nothing_is_half_done) {
  TableMetadata t = table();
  EXPECT_EQ(remove_specs(t, {0, 1}, 40).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(specs(t), (Ids{0, 1, 2}));
}

TEST(RemoveSpecs, one_that_comes_back_has_its_ids_and_others_get_new_ones) {
  TableMetadata t = table();
  ASSERT_TRUE(remove_specs(t, {0, 2}, 40));
  const auto bucket = parse_transform("bucket[4]");
  EXPECT_EQ(add_spec(t, {7, {{1, 0, "a_bucket", bucket}}}).value(), 3);
  EXPECT_EQ(t.find_spec(3)->fields[0].field_id, 1002);
  EXPECT_EQ(add_spec(t, {7, {{2, 0, "b", parse_transform("identity")}}}).value(), 2);
  EXPECT_EQ(add_spec(t, {7, {}}).value(), 0);
  EXPECT_EQ(specs(t), (Ids{0, 1, 2, 3}));
}

TEST(RemoveSpecs, a_default_that_the_lake_sets_is_shown) {
  TableMetadata t = table();
  ASSERT_TRUE(remove_specs(t, {2}, 40));
  t.default_spec_id = 2;
  EXPECT_EQ(specs(t), (Ids{0, 1, 2}));
}

base::json::Value statistics(std::int64_t snapshot, const char* path) {
  return base::json::Object{{"snapshot-id", snapshot}, {"statistics-path", path}};
}

TEST(RemoveSnapshots, their_log_and_statistics_go_too) {
  TableMetadata t = table();
  t.refs.erase("v");
  for (std::int64_t id : {5, 7, 9}) {
    set_statistics(t.statistics, statistics(0, "s3://b/s"), SnapshotId(id));
    set_statistics(t.partition_statistics, statistics(0, "s3://b/p"), SnapshotId(id));
  }
  ASSERT_TRUE(remove_snapshots(t, {SnapshotId(7), SnapshotId(100)}));
  EXPECT_EQ(t.snapshots.size(), 2u);
  EXPECT_EQ(t.find_snapshot(SnapshotId(7)), nullptr);
  // 5 is there and older than a snapshot that is gone: the log begins behind it.
  ASSERT_EQ(t.snapshot_log.size(), 1u);
  EXPECT_EQ(t.snapshot_log[0].snapshot_id, SnapshotId(9));
  EXPECT_EQ(t.statistics.size(), 2u);
  EXPECT_EQ(t.partition_statistics.size(), 2u);
}

TEST(RemoveSnapshots, what_main_or_another_ref_names_stays) {
  for (std::int64_t id : {9, 7}) {
    TableMetadata t = table();
    const auto refused = remove_snapshots(t, {SnapshotId(5), SnapshotId(id)});
    ASSERT_FALSE(refused) << id;
    EXPECT_EQ(refused.error().kind(), ErrorKind::kConflict) << id;
    EXPECT_NE(refused.error().message().find(std::to_string(id)), std::string::npos);
    EXPECT_EQ(t.snapshots.size(), 3u);
  }
  TableMetadata t = table();
  t.refs.erase("v");
  EXPECT_TRUE(remove_snapshots(t, {SnapshotId(7)}));
}

TEST(Statistics, a_snapshot_has_one_file_of_each_kind) {
  std::vector<base::json::Value> files;
  set_statistics(files, statistics(500, "s3://b/1"), SnapshotId(5));
  set_statistics(files, statistics(7, "s3://b/2"), SnapshotId(7));
  set_statistics(files, statistics(5, "s3://b/3"), SnapshotId(5));
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].as_object().at("statistics-path").as_string(), "s3://b/3");
  EXPECT_EQ(statistics_snapshot(files[1]), SnapshotId(5));
  remove_statistics(files, SnapshotId(6));
  EXPECT_EQ(files.size(), 2u);
  remove_statistics(files, SnapshotId(7));
  EXPECT_EQ(files.size(), 1u);
  EXPECT_EQ(statistics_snapshot(base::json::Object{}), std::nullopt);
}

}  // namespace
}  // namespace lake::model

#include "lakeproxy/to_iceberg/publish/table_at.h"

#include <gtest/gtest.h>

namespace lake::publish {
namespace {

using model::SnapshotId;

model::Schema schema_of(std::int32_t id, std::initializer_list<model::FieldId> columns) {
  model::Schema schema;
  schema.schema_id = id;
  for (model::FieldId column : columns) {
    schema.fields.push_back({.id = column,
                             .name = "c" + std::to_string(column),
                             .type = model::Type(model::TypeKind::kLong)});
  }
  return schema;
}

// Snapshots 5, 6 and 9; the client called 6 by 1000. Column 2 came before 9.
LoadedTable sample() {
  LoadedTable loaded;
  model::TableMetadata& metadata = loaded.metadata;
  metadata.location = "s3://lake/t";
  metadata.schemas = {schema_of(0, {1}), schema_of(1, {1, 2})};
  metadata.current_schema_id = 1;
  metadata.partition_specs = {{0, {}}, {1, {{2, 1000, "p", {model::TransformKind::kIdentity}}}}};
  metadata.default_spec_id = 1;
  metadata.sort_orders = {{}};
  for (std::int64_t id : {5, 6, 9}) {
    model::Snapshot snapshot;
    snapshot.snapshot_id = SnapshotId(id);
    snapshot.sequence_number = id - 4;
    snapshot.timestamp_ms = id * 1000;
    snapshot.schema_id = id == 9 ? 1 : 0;
    metadata.snapshots.push_back(snapshot);
    metadata.snapshot_log.push_back({id * 1000, SnapshotId(id)});
  }
  metadata.current_snapshot_id = SnapshotId(9);
  metadata.refs["main"].snapshot_id = SnapshotId(9);
  metadata.refs["old"] = {SnapshotId(5), model::RefType::kTag, {}, {}, {}};
  metadata.refs["new"] = {SnapshotId(9), model::RefType::kTag, {}, {}, {}};
  loaded.metadata_location = "s3://lake/t/metadata/1.metadata.json";
  loaded.table.aliases = {{1000, SnapshotId(6)}, {1001, SnapshotId(4)}};
  return loaded;
}

TEST(TableAt, finds_a_snapshot_by_the_lakes_id_and_by_the_clients) {
  LoadedTable loaded = sample();
  EXPECT_EQ(find_snapshot(loaded, SnapshotId(6)), SnapshotId(6));
  EXPECT_EQ(find_snapshot(loaded, SnapshotId(1000)), SnapshotId(6));
  EXPECT_FALSE(find_snapshot(loaded, SnapshotId(7)));
  EXPECT_FALSE(find_snapshot(loaded, SnapshotId(1001))) << "of a snapshot that is gone";
}

TEST(TableAt, is_the_table_of_that_time) {
  model::TableMetadata at = metadata_at(sample(), SnapshotId(6));
  EXPECT_EQ(at.current_snapshot_id, SnapshotId(6));
  EXPECT_EQ(at.refs.at("main").snapshot_id, SnapshotId(6));
  EXPECT_EQ(at.current_schema_id, 0);
  EXPECT_EQ(at.snapshots.size(), 2U);
  EXPECT_EQ(at.snapshot_log.back().snapshot_id, SnapshotId(6));
  EXPECT_EQ(at.last_sequence_number, 2);
  EXPECT_TRUE(at.refs.contains("old"));
  EXPECT_FALSE(at.refs.contains("new"));
}

TEST(TableAt, has_no_default_of_a_column_to_come) {
  EXPECT_EQ(metadata_at(sample(), SnapshotId(6)).default_spec_id, 0);
  EXPECT_EQ(metadata_at(sample(), SnapshotId(9)).default_spec_id, 1);
}

TEST(TableAt, of_a_table_without_an_unpartitioned_spec_has_one_that_fits) {
  LoadedTable loaded = sample();
  loaded.table.unpartitioned_spec_id.reset();
  loaded.metadata.partition_specs[0].fields = {{1, 1001, "q", {model::TransformKind::kIdentity}}};
  EXPECT_EQ(metadata_at(loaded, SnapshotId(6)).default_spec_id, 0);
  EXPECT_EQ(metadata_at(loaded, SnapshotId(9)).default_spec_id, 1);
}

TEST(TableAt, at_its_newest_snapshot_is_the_table) {
  LoadedTable loaded = sample();
  model::TableMetadata at = metadata_at(loaded, SnapshotId(9));
  EXPECT_EQ(at.current_schema_id, loaded.metadata.current_schema_id);
  EXPECT_EQ(at.snapshots.size(), 3U);
  EXPECT_EQ(at.refs.size(), 3U);
}

TEST(TableAt, names_the_snapshots_of_refs_alone_when_asked_so) {
  const std::string body =
      body_at(sample(), SnapshotId(6), model::SnapshotSelection::kRefs) + *ClientConfig("{}").text;
  auto json = base::json::parse(body);
  ASSERT_TRUE(json) << body;
  const auto& metadata = json->as_object().at("metadata").as_object();
  EXPECT_EQ(metadata.at("snapshots").as_array().size(), 2U) << "main and the tag";
  EXPECT_EQ(metadata.at("current-snapshot-id").as_int64(), 6);
}

}  // namespace
}  // namespace lake::publish

#include "lakeproxy/to_iceberg/publish/loaded_table.h"

#include <gtest/gtest.h>

#include "base/gzip/gunzip.h"

namespace lake::publish {
namespace {

using base::json::Object;
using model::SnapshotId;

model::Snapshot snapshot(std::int64_t id, std::int32_t schema) {
  return {.snapshot_id = SnapshotId(id),
          .parent_snapshot_id = SnapshotId(id - 2),
          .sequence_number = id,
          .timestamp_ms = id * 1000,
          .manifest_list = "list-" + std::to_string(id),
          .schema_id = schema};
}

/// Snapshots 3, 5, 7 and 9; schema 0 is that of the first, 1 of the others, and
/// nothing has the current one, 2.
model::LakeTable table() {
  model::LakeTable t;
  t.metadata.location = "s3://b/t";
  for (std::int32_t id : {0, 1, 2}) t.metadata.schemas.push_back({.schema_id = id, .fields = {}});
  t.metadata.current_schema_id = 2;
  t.metadata.partition_specs = {{0, {}}, {1, {}}};
  t.metadata.sort_orders = {{}};
  for (std::int64_t id : {3, 5, 7, 9}) t.materialized.push_back(snapshot(id, id == 3 ? 0 : 1));
  return t;
}

std::vector<std::int64_t> ids(const LoadedTablePtr& loaded) {
  std::vector<std::int64_t> out;
  for (const auto& shown : loaded->metadata.snapshots) out.push_back(shown.snapshot_id.value);
  return out;
}
std::vector<std::int64_t> log(const LoadedTablePtr& loaded) {
  std::vector<std::int64_t> out;
  for (const auto& entry : loaded->metadata.snapshot_log) out.push_back(entry.snapshot_id.value);
  return out;
}
using Ids = std::vector<std::int64_t>;

TEST(LoadedTable, shows_every_snapshot_and_main_at_the_newest) {
  auto loaded = make_loaded_table(table(), nullptr);
  EXPECT_EQ(ids(loaded), (Ids{3, 5, 7, 9}));
  EXPECT_EQ(log(loaded), (Ids{3, 5, 7, 9}));
  EXPECT_EQ(loaded->metadata.current_snapshot_id, SnapshotId(9));
  EXPECT_EQ(loaded->metadata.refs.at("main"), (model::SnapshotRef{.snapshot_id = SnapshotId(9)}));
}

// A column that spec 1 has in buckets is an int in schema 0 and of `type` from then on.
model::LakeTable bucketed(model::TypeKind type) {
  model::LakeTable t = table();
  for (model::Schema& schema : t.metadata.schemas) {
    schema.fields = {{.id = 1, .name = "v", .type = model::Type(type)}};
  }
  t.metadata.schemas[0].fields[0].type = model::Type(model::TypeKind::kInt);
  t.metadata.partition_specs[1].fields = {{1, 1000, "b", {model::TransformKind::kBucket, 3, {}}}};
  return t;
}

TEST(LoadedTable, snapshots_whose_partition_values_are_of_another_type_are_not_shown) {
  model::LakeTable t = bucketed(model::TypeKind::kDouble);
  t.metadata.partition_specs[1].fields = {{1, 1000, "v", {}}};
  auto loaded = make_loaded_table(t, nullptr);
  EXPECT_EQ(ids(loaded), (Ids{5, 7, 9}));
  EXPECT_TRUE(loaded->metadata.shows_spec(1));
  model::LakeTable widened = bucketed(model::TypeKind::kLong);
  widened.metadata.partition_specs[1].fields = {{1, 1000, "v", {}}};
  EXPECT_EQ(ids(make_loaded_table(widened, nullptr)), ids(make_loaded_table(table(), nullptr)));
}

TEST(LoadedTable, a_spec_that_a_column_has_outgrown_is_not_shown_nor_what_may_need_it) {
  model::LakeTable t = bucketed(model::TypeKind::kDouble);
  t.metadata.refs["kept"] = {.snapshot_id = SnapshotId(3), .type = model::RefType::kTag};
  auto loaded = make_loaded_table(t, nullptr);
  EXPECT_EQ(ids(loaded), (Ids{5, 7, 9}));
  EXPECT_EQ(log(loaded), (Ids{5, 7, 9}));
  EXPECT_FALSE(loaded->metadata.shows_spec(1));
  EXPECT_FALSE(loaded->metadata.refs.contains("kept"));
  EXPECT_EQ(loaded->body->find("bucket[3]"), std::string::npos);
}

TEST(LoadedTable, a_spec_is_shown_while_its_transforms_take_their_columns) {
  EXPECT_TRUE(make_loaded_table(bucketed(model::TypeKind::kLong), nullptr)->metadata.shows_spec(1));
  // The newest snapshot is from before the change: its manifests are of the spec.
  model::LakeTable t = bucketed(model::TypeKind::kDouble);
  t.materialized = {};
  t.materialized.push_back(snapshot(3, 0));
  auto loaded = make_loaded_table(t, nullptr);
  EXPECT_EQ(ids(loaded), Ids{3});
  EXPECT_TRUE(loaded->metadata.shows_spec(1));
}

std::vector<model::MetadataLogEntry> files(int first, int last) {
  std::vector<model::MetadataLogEntry> out;
  for (int i = first; i <= last; ++i) out.push_back({i * 1000, "file-" + std::to_string(i)});
  return out;
}

TEST(LoadedTable, texts_of_the_metadata_log_are_written_once) {
  model::LakeTable first = table();
  first.metadata.metadata_log = files(1, 120);
  auto before = make_loaded_table(first, nullptr);
  ASSERT_EQ(before->metadata_log.size(), 100U);
  model::LakeTable second = table();
  second.metadata.metadata_log = files(1, 121);
  auto loaded = make_loaded_table(second, before);
  ASSERT_EQ(loaded->metadata_log.size(), 100U);
  for (std::size_t i = 0; i < 99; ++i) {
    EXPECT_EQ(loaded->metadata_log[i], before->metadata_log[i + 1]) << i;
  }
  EXPECT_EQ(*loaded->body, *make_loaded_table(second, nullptr)->body);
}

TEST(LoadedTable, a_metadata_log_that_became_another_is_written_anew) {
  model::LakeTable first = table();
  first.metadata.metadata_log = files(1, 5);
  auto before = make_loaded_table(first, nullptr);
  for (const auto& log : {files(3, 4), files(7, 9), std::vector<model::MetadataLogEntry>{}}) {
    model::LakeTable second = table();
    second.metadata.metadata_log = log;
    if (log.size() == 2) second.metadata.metadata_log[1].metadata_file = "another";
    EXPECT_EQ(*make_loaded_table(second, before)->body, *make_loaded_table(second, nullptr)->body);
  }
}

using Snapshots = model::SnapshotSelection;

TEST(LoadedTable, packed_bodies_are_the_bodies) {
  auto loaded = make_loaded_table(table(), nullptr);
  ASSERT_NE(*loaded->body, *loaded->body_refs);
  const ClientConfig config(R"({"s3.secret-access-key":"hush"})");
  for (Snapshots snapshots : {Snapshots::kAll, Snapshots::kRefs}) {
    auto packed = pack_body(*loaded, snapshots);
    ASSERT_TRUE(packed) << packed.error().message();
    EXPECT_LT((*packed)->bytes.size(), loaded->body_of(snapshots)->size());
    const std::string whole = (*packed)->bytes + config.packed.after(**packed);
    EXPECT_EQ(base::gzip::gunzip(whole, 1 << 20).value(),
              *loaded->body_of(snapshots) + *config.text);
  }
}

TEST(LoadedTable, each_body_is_an_answer_with_any_config) {
  auto loaded = make_loaded_table(table(), nullptr);
  for (const char* config : {"{}", R"({"s3.endpoint":"http://a"})"}) {
    for (Snapshots snapshots : {Snapshots::kAll, Snapshots::kRefs}) {
      auto answer = base::json::parse(*loaded->body_of(snapshots) + *ClientConfig(config).text);
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->at("config"), base::json::parse(config).value());
      EXPECT_EQ(answer->at("metadata").at("location").as_string(), loaded->metadata.location);
    }
  }
  EXPECT_EQ(ClientConfig("{}").tag, ClientConfig("{}").tag);
  EXPECT_NE(ClientConfig("{}").tag, ClientConfig(R"({"s3.endpoint":"http://a"})").tag);
}

// What is shared by all who load the table has nothing that one of them was told.
TEST(LoadedTable, knows_no_config) {
  auto loaded = make_loaded_table(table(), nullptr);
  EXPECT_EQ(loaded->body->find("\"config\""), std::string::npos);
  EXPECT_TRUE(loaded->body->ends_with(loaded->document()));
  EXPECT_TRUE(base::json::parse(loaded->document()).has_value());
}

// The length of the packed answer must not tell whether a table says what the config says.
TEST(LoadedTable, what_the_config_says_is_not_packed_with_the_document) {
  const std::string secret = R"({"s3.secret-access-key":"a secret of the store"})";
  const ClientConfig told(secret);
  const ClientConfig nothing("{}");
  model::LakeTable t = table();
  t.metadata.properties["comment"] = secret;
  auto loaded = make_loaded_table(t, nullptr);
  for (Snapshots snapshots : {Snapshots::kAll, Snapshots::kRefs}) {
    auto packed = pack_body(*loaded, snapshots);
    ASSERT_TRUE(packed);
    const std::string end = told.packed.after(**packed);
    EXPECT_EQ(end.size() - nothing.packed.after(**packed).size(), secret.size() - 2);
    EXPECT_NE(end.find(secret), std::string::npos) << "it stands as it is";
    EXPECT_EQ((*packed)->bytes.find("list-9"), std::string::npos) << "the document is packed";
  }
}

TEST(LoadedTable, packed_bodies_weigh) {
  auto loaded = make_loaded_table(table(), nullptr);
  const std::size_t before = bytes_of(*loaded);
  auto packed = pack_body(*loaded, Snapshots::kRefs);
  ASSERT_TRUE(packed);
  loaded->packed_of(Snapshots::kRefs).set(*packed);
  EXPECT_EQ(bytes_of(*loaded), before + (*packed)->bytes.size());
  EXPECT_EQ(loaded->packed_of(Snapshots::kAll).get(), nullptr);
}

TEST(LoadedTable, removed_snapshots_are_not_shown_and_the_log_begins_behind_them) {
  auto before = make_loaded_table(table(), nullptr);
  model::LakeTable t = table();
  t.metadata.out_of_sight.snapshots = {{SnapshotId(5), SnapshotId(6)}};
  auto loaded = make_loaded_table(std::move(t), before);
  EXPECT_EQ(ids(loaded), (Ids{3, 7, 9}));
  EXPECT_EQ(log(loaded), (Ids{7, 9}));
  EXPECT_EQ(loaded->metadata.last_sequence_number, 9);
  EXPECT_EQ(loaded->metadata.snapshots[1].parent_snapshot_id, SnapshotId(5));
  EXPECT_EQ(loaded->body->find("list-5"), std::string::npos);
  EXPECT_NE(loaded->body->find("list-7"), std::string::npos);
  EXPECT_NE(loaded->etag, before->etag);
  EXPECT_EQ(loaded->table.materialized.size(), 4u) << "the chain stays whole";
}

// An upkeep of DuckDB left no shown change behind the snapshots that were removed.
TEST(LoadedTable, main_is_shown_also_where_it_was_removed_before) {
  model::LakeTable t = table();
  t.metadata.out_of_sight.snapshots = {{SnapshotId(5), SnapshotId(20)}};
  auto loaded = make_loaded_table(std::move(t), nullptr);
  EXPECT_EQ(ids(loaded), (Ids{3, 9}));
  EXPECT_EQ(log(loaded), Ids{9});
  EXPECT_EQ(loaded->metadata.current_snapshot_id, SnapshotId(9));
}

TEST(LoadedTable, a_table_without_main_may_lose_every_snapshot) {
  model::LakeTable t = table();
  t.cleared_at = SnapshotId(9);
  t.metadata.refs["main"].min_snapshots_to_keep = 4;
  t.metadata.out_of_sight.snapshots = {{SnapshotId(3), SnapshotId(20)}};
  auto loaded = make_loaded_table(t, nullptr);
  EXPECT_TRUE(ids(loaded).empty());
  EXPECT_FALSE(loaded->metadata.current_snapshot_id);
  EXPECT_TRUE(loaded->metadata.refs.empty());
  t.materialized.push_back(snapshot(21, 1));
  EXPECT_EQ(ids(make_loaded_table(std::move(t), loaded)), Ids{21});
}

TEST(LoadedTable, main_keeps_its_retention) {
  model::LakeTable t = table();
  t.metadata.refs["main"].min_snapshots_to_keep = 4;
  auto loaded = make_loaded_table(std::move(t), nullptr);
  EXPECT_EQ(loaded->metadata.refs.at("main"),
            (model::SnapshotRef{.snapshot_id = SnapshotId(9), .min_snapshots_to_keep = 4}));
}

TEST(LoadedTable, refs_and_statistics_of_what_is_gone_are_not_shown) {
  model::LakeTable t = table();
  t.metadata.out_of_sight.snapshots = {{SnapshotId(3), SnapshotId(4)}};
  for (std::int64_t id : {1, 3, 5}) {
    t.metadata.refs["r" + std::to_string(id)].snapshot_id = SnapshotId(id);
    t.metadata.statistics.push_back(Object{{"snapshot-id", id}});
    t.metadata.partition_statistics.push_back(Object{{"snapshot-id", id}});
  }
  t.metadata.statistics.push_back(Object{});
  auto loaded = make_loaded_table(std::move(t), nullptr);
  EXPECT_EQ(loaded->metadata.refs.size(), 2u);
  EXPECT_TRUE(loaded->metadata.refs.contains("r5"));
  EXPECT_EQ(loaded->metadata.statistics.size(), 1u);
  EXPECT_EQ(loaded->metadata.partition_statistics.size(), 1u);
}

TEST(LoadedTable, a_removed_schema_is_shown_again_when_it_is_needed) {
  model::LakeTable t = table();
  t.metadata.out_of_sight.schemas = {0, 1, 2};
  t.metadata.out_of_sight.snapshots = {{SnapshotId(3), SnapshotId(4)}};
  auto loaded = make_loaded_table(std::move(t), nullptr);
  EXPECT_EQ(loaded->metadata.out_of_sight.schemas, std::set<std::int32_t>{0});
  EXPECT_EQ(loaded->body->find(R"("schema-id":0,"fields")"), std::string::npos);
}

}  // namespace
}  // namespace lake::publish

#include "lakeproxy/mapping/shown_parts.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;
using model::OutOfSight;
using model::SnapshotId;

TEST(OutOfSightJson, comes_back_as_it_was) {
  const OutOfSight whole{
      .schemas = {1, 7},
      .specs = {{0, 3}, {4, 1'000'000'000'000}},
      .snapshots = {{SnapshotId(1), SnapshotId(4)}, {SnapshotId(9), SnapshotId(9)}}};
  for (const OutOfSight& hidden : {whole, OutOfSight{}, OutOfSight{.schemas = {2}}}) {
    const auto read = read_out_of_sight(out_of_sight_json(hidden));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, hidden);
  }
  EXPECT_EQ(out_of_sight_json({}), "{}");
}

TEST(OutOfSightJson, another_form_is_an_error) {
  for (const char* text :
       {"", "[]", R"({"schemas":{}})", R"({"schemas":["a"]})", R"({"specs":[]})",
        R"({"specs":{"a":1}})", R"({"specs":{"1":"a"}})", R"({"snapshots":[1]})",
        R"({"snapshots":[[1]]})", R"({"snapshots":[[1,2,3]]})", R"({"snapshots":[["a",2]]})"}) {
    EXPECT_FALSE(read_out_of_sight(text)) << text;
  }
}

TEST(StatisticsJson, comes_back_as_it_was) {
  const std::vector<Value> files{Object{{"snapshot-id", 5}, {"unknown", Array{1, "a"}}}};
  const auto read = read_statistics(statistics_json(files));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, files);
  EXPECT_TRUE(read_statistics("[]")->empty());
  EXPECT_FALSE(read_statistics("{}"));
}

TEST(ClientIds, refs_and_statistics_get_the_lakes) {
  model::TableMetadata metadata;
  metadata.refs["a"].snapshot_id = SnapshotId(1000);
  metadata.refs["b"].snapshot_id = SnapshotId(6);
  metadata.statistics = {
      Object{{"snapshot-id", 1000}, {"blob-metadata", Array{Object{{"snapshot-id", 1000}}}}},
      Object{{"snapshot-id", 6}, {"blob-metadata", Array{Object{{"snapshot-id", 7}}}}}};
  metadata.partition_statistics = {Object{{"snapshot-id", 1000}}, Value("no object")};
  resolve_client_ids({{1000, SnapshotId(5)}}, metadata);
  EXPECT_EQ(metadata.refs.at("a").snapshot_id, SnapshotId(5));
  EXPECT_EQ(metadata.refs.at("b").snapshot_id, SnapshotId(6));
  EXPECT_EQ(statistics_json(metadata.statistics),
            R"([{"snapshot-id":5,"blob-metadata":[{"snapshot-id":5}]},)"
            R"({"snapshot-id":6,"blob-metadata":[{"snapshot-id":7}]}])");
  EXPECT_EQ(statistics_json(metadata.partition_statistics), R"([{"snapshot-id":5},"no object"])");
}

TEST(KeepShownSpecs, what_a_manifest_needed_stays_and_what_was_removed_since_goes) {
  model::LakeTable known;
  known.version.revision = 10;
  for (std::int32_t id : {0, 1, 2, 3}) known.metadata.partition_specs.push_back({id, {}});
  known.metadata.out_of_sight.specs = {{2, 5}};
  model::LakeTable table;
  table.metadata.out_of_sight.specs = {{0, 10}, {1, 11}, {2, 5}, {4, 0}};
  keep_shown_specs(known, table);
  EXPECT_EQ(table.metadata.out_of_sight.specs,
            (std::map<std::int32_t, std::int64_t>{{1, 11}, {2, 5}, {4, 0}}));
}

}  // namespace
}  // namespace lake::ducklake

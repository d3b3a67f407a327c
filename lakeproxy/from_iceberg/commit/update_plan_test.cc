#include "lakeproxy/from_iceberg/commit/update_plan.h"

#include <gtest/gtest.h>

namespace lake::operation {
namespace {

using base::ErrorKind;
using model::SnapshotId;
using model::TableUpdate;

/// Snapshots 5, 6 and 9, the second called 600 by its client; schema 0 is that of
/// the first, 1 that of the others and current.
model::LakeTable table() {
  model::LakeTable t;
  t.version = {.snapshot = SnapshotId(20), .revision = 40};
  t.metadata.location = "s3://b/t";
  model::Schema schema{
      .schema_id = 0,
      .fields = {{.id = 1, .name = "a", .type = model::Type(model::TypeKind::kLong)}}};
  t.metadata.schemas.push_back(schema);
  schema.schema_id = 1;
  schema.fields.push_back({.id = 2, .name = "b", .type = model::Type(model::TypeKind::kLong)});
  t.metadata.schemas.push_back(schema);
  t.metadata.current_schema_id = 1;
  t.metadata.last_column_id = 2;
  t.metadata.partition_specs = {{0, {}}, {1, {{1, 1000, "a", model::parse_transform("identity")}}}};
  t.metadata.last_partition_id = 1000;
  t.metadata.sort_orders = {{}};
  for (std::int64_t id : {5, 6, 9}) {
    t.materialized.push_back(
        model::Snapshot{.snapshot_id = SnapshotId(id), .schema_id = id == 5 ? 0 : 1});
  }
  t.aliases = {{600, SnapshotId(6)}, {400, SnapshotId(4)}};
  return t;
}

model::TableMetadata shown(const model::LakeTable& t) {
  model::TableMetadata metadata = t.metadata;
  metadata.snapshots = t.materialized;
  metadata.current_snapshot_id = SnapshotId(9);
  metadata.refs["main"].snapshot_id = SnapshotId(9);
  metadata.refs["v"] = {.snapshot_id = SnapshotId(6), .type = model::RefType::kTag};
  return metadata;
}

base::Result<UpdatePlan> plan(const std::vector<TableUpdate>& updates) {
  const model::LakeTable t = table();
  return plan_updates(&t, shown(t), updates);
}

void expect_refused(ErrorKind kind, const std::vector<TableUpdate>& updates) {
  const auto refused = plan(updates);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), kind) << refused.error().message();
}

model::RemoveSnapshots remove(std::initializer_list<std::int64_t> ids) {
  model::RemoveSnapshots out;
  for (std::int64_t id : ids) out.snapshot_ids.emplace_back(id);
  return out;
}
model::AddSnapshot add(std::int64_t id) {
  return {model::Snapshot{.snapshot_id = SnapshotId(id), .schema_id = 1}};
}
model::SetSnapshotRef ref(std::string name, std::int64_t id,
                          model::RefType type = model::RefType::kBranch) {
  return {std::move(name), {.snapshot_id = SnapshotId(id), .type = type}};
}

TEST(RemoveSnapshotsPlan, says_what_goes_out_of_sight) {
  auto made = plan({remove({5, 77})});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->after.snapshots.size(), 2u);
  EXPECT_EQ(made->after.out_of_sight.snapshots,
            (std::vector<model::SnapshotRange>{{SnapshotId(5), SnapshotId(5)}}));
  made = plan({remove({600}), model::RemoveSnapshotRef{"v"}});
  ASSERT_TRUE(made) << "a client's id, and the ref goes in the same request";
  EXPECT_EQ(made->after.out_of_sight.snapshots,
            (std::vector<model::SnapshotRange>{{SnapshotId(6), SnapshotId(8)}}));
  EXPECT_TRUE(plan({remove({77, 400})})->after.out_of_sight.snapshots.empty());
}

TEST(RemoveSnapshotsPlan, what_is_named_at_the_end_stays) {
  expect_refused(ErrorKind::kConflict, {remove({9})});
  expect_refused(ErrorKind::kConflict, {remove({5, 6})});
  expect_refused(ErrorKind::kConflict, {ref("w", 5, model::RefType::kTag), remove({5})});
  expect_refused(ErrorKind::kUnsupported, {add(700), ref("main", 700), remove({700})});
}

TEST(RemoveSnapshotsPlan, the_current_one_may_go_where_main_moves_on) {
  auto made = plan({add(700), ref("main", 700), remove({9})});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->after.out_of_sight.snapshots,
            (std::vector<model::SnapshotRange>{{SnapshotId(9), SnapshotId(20)}}));
  EXPECT_TRUE(plan({ref("main", 5), remove({9})}));
}

TEST(RefPlan, names_a_snapshot_that_is_added_to_main) {
  auto made = plan({add(700), ref("main", 700), ref("t", 700, model::RefType::kTag)});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->after.refs.at("t").snapshot_id, SnapshotId(700));
  expect_refused(ErrorKind::kUnsupported, {add(700), ref("b", 700)});
  expect_refused(ErrorKind::kUnsupported, {add(700), ref("main", 9), ref("b", 700)});
}

TEST(SnapshotPlan, an_id_stands_in_a_commit_once) {
  EXPECT_TRUE(plan({add(700), add(701), ref("main", 701)}));
  expect_refused(ErrorKind::kInvalid, {add(700), add(700), ref("main", 700)});
}

TEST(RefPlan, main_is_a_branch_and_keeps_its_retention) {
  model::SetSnapshotRef main = ref("main", 9);
  main.ref.min_snapshots_to_keep = 3;
  auto made = plan({main});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->after.refs.at("main"),
            (model::SnapshotRef{.snapshot_id = SnapshotId(9), .min_snapshots_to_keep = 3}));
  EXPECT_FALSE(made->restores);
  expect_refused(ErrorKind::kInvalid, {ref("main", 9, model::RefType::kTag)});
}

TEST(RefPlan, a_snapshot_out_of_sight_is_not_there) {
  expect_refused(ErrorKind::kInvalid, {ref("t", 400, model::RefType::kTag)});
  expect_refused(ErrorKind::kInvalid, {ref("main", 400)});
  expect_refused(ErrorKind::kInvalid, {remove({5}), ref("t", 4)});
}

TEST(RemoveSchemasPlan, one_that_a_snapshot_has_stays) {
  expect_refused(ErrorKind::kConflict, {model::RemoveSchemas{{0}}});
  expect_refused(ErrorKind::kInvalid, {model::RemoveSchemas{{1}}});
  auto made = plan({model::RemoveSchemas{{0}}, remove({5})});
  ASSERT_TRUE(made) << "the snapshot goes in the same request";
  EXPECT_FALSE(made->after.shows_schema(0));
}

TEST(SpecPlan, a_spec_that_gets_another_id_than_the_client_expects_is_remembered) {
  const model::PartitionSpec spec{2, {{2, 0, "b", model::parse_transform("identity")}}};
  EXPECT_TRUE(plan({model::AddPartitionSpec{spec}})->spec_ids.empty());
  const model::LakeTable t = table();
  model::TableMetadata metadata = shown(t);
  metadata.partition_specs.push_back({2, {}});
  metadata.out_of_sight.specs = {{2, 0}};
  auto made =
      plan_updates(&t, metadata, {model::AddPartitionSpec{spec}, model::SetDefaultSpec{-1}});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->after.default_spec_id, 3);
  EXPECT_EQ(made->spec_ids, (std::map<std::int32_t, std::int32_t>{{2, 3}}));
  // An id that is shown is that spec's.
  model::PartitionSpec careless = spec;
  careless.spec_id = 0;
  EXPECT_TRUE(plan_updates(&t, metadata, {model::AddPartitionSpec{careless}})->spec_ids.empty());
  made = plan({model::RemovePartitionSpecs{{1, 77}}});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->removed_specs, (std::set<std::int32_t>{1, 77}));
  EXPECT_EQ(made->after.out_of_sight.specs, (std::map<std::int32_t, std::int64_t>{{1, 41}}));
}

base::json::Value statistics(std::int64_t snapshot) {
  return base::json::Object{{"snapshot-id", snapshot}};
}

TEST(StatisticsPlan, files_stand_under_the_lakes_snapshots) {
  auto made =
      plan({model::SetStatistics{statistics(600)}, model::SetStatistics{statistics(9)},
            model::SetPartitionStatistics{statistics(5)}, model::RemoveStatistics{SnapshotId(9)},
            model::RemoveStatistics{SnapshotId(77)}});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->after.statistics, std::vector<base::json::Value>{statistics(6)});
  EXPECT_EQ(made->after.partition_statistics, std::vector<base::json::Value>{statistics(5)});
  made = plan({add(700), ref("main", 700), model::SetStatistics{statistics(700)}});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->after.statistics, std::vector<base::json::Value>{statistics(700)});
  for (std::int64_t id : {77, 400, -1}) {
    expect_refused(ErrorKind::kInvalid, {model::SetStatistics{statistics(id)}});
    expect_refused(ErrorKind::kInvalid, {model::SetPartitionStatistics{statistics(id)}});
  }
}

}  // namespace
}  // namespace lake::operation

#include "lakeproxy/iceberg/update/table_update_json.h"

#include <gtest/gtest.h>

#include "base/json/json.h"

namespace lake::model {
namespace {

using base::json::Fields;
using base::json::Value;

Value parsed(const std::string& text) {
  auto value = base::json::parse(text);
  if (!value) ADD_FAILURE() << value.error().message() << " in " << text;
  return value.value_or(Value());
}

base::Result<TableUpdate> update(const std::string& text) {
  const Value value = parsed(text);
  return table_update_from_json(Fields::of(value, "updates[0]").value());
}

base::Result<TableRequirement> requirement(const std::string& text) {
  const Value value = parsed(text);
  return table_requirement_from_json(Fields::of(value, "requirements[0]").value());
}

constexpr const char* kUuid = "9c12d441-03fe-4693-9a96-a0705ddf69c1";

struct Case {
  std::string json;
  std::size_t alternative;  ///< Of TableUpdate, in its order.
};

TEST(TableUpdateJsonTest, each_action_becomes_its_own_type) {
  const std::vector<Case> cases = {
      {R"({"action":"assign-uuid","uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1"})", 0},
      {R"({"action":"upgrade-format-version","format-version":3})", 1},
      {R"({"action":"add-schema","schema":{"type":"struct","fields":[]},"last-column-id":3})", 2},
      {R"({"action":"set-current-schema","schema-id":-1})", 3},
      {R"({"action":"remove-schemas","schema-ids":[1,2]})", 4},
      {R"({"action":"add-spec","spec":{"fields":[]}})", 5},
      {R"({"action":"set-default-spec","spec-id":-1})", 6},
      {R"({"action":"remove-partition-specs","spec-ids":[1]})", 7},
      {R"({"action":"add-sort-order","sort-order":{"order-id":1,"fields":[]}})", 8},
      {R"({"action":"set-default-sort-order","sort-order-id":-1})", 9},
      {R"({"action":"add-snapshot","snapshot":{"snapshot-id":5,"timestamp-ms":1,)"
       R"("manifest-list":"s3://m","summary":{"operation":"append","a":"b"}}})",
       10},
      {R"({"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":5})", 11},
      {R"({"action":"remove-snapshots","snapshot-ids":[5,9223372036854775807]})", 12},
      {R"({"action":"remove-snapshot-ref","ref-name":"main"})", 13},
      {R"({"action":"set-location","location":"s3://x"})", 14},
      {R"({"action":"set-properties","updates":{"a":"b"}})", 15},
      {R"({"action":"remove-properties","removals":["a"]})", 16},
      {R"({"action":"set-statistics","statistics":{"snapshot-id":5,"statistics-path":"s3://p",)"
       R"("file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[{"type":"t",)"
       R"("snapshot-id":5,"sequence-number":1,"fields":[1]}]}})",
       17},
      {R"({"action":"remove-statistics","snapshot-id":5})", 18},
      {R"({"action":"set-partition-statistics","partition-statistics":{"snapshot-id":5,)"
       R"("statistics-path":"s3://p","file-size-in-bytes":1}})",
       19},
      {R"({"action":"remove-partition-statistics","snapshot-id":5})", 20}};
  EXPECT_EQ(cases.size(), std::variant_size_v<TableUpdate>);
  for (const Case& each : cases) {
    const auto result = update(each.json);
    ASSERT_TRUE(result) << each.json << ": " << result.error().message();
    EXPECT_EQ(result->index(), each.alternative) << each.json;
  }
}

TEST(TableUpdateJsonTest, values_arrive_whole) {
  const auto removed = update(R"({"action":"remove-snapshots","snapshot-ids":[5,6]})");
  EXPECT_EQ(std::get<RemoveSnapshots>(*removed).snapshot_ids,
            (std::vector{SnapshotId(5), SnapshotId(6)}));
  const auto ref =
      update(R"({"action":"set-snapshot-ref","ref-name":"r","type":"tag","snapshot-id":5,)"
             R"("max-ref-age-ms":9})");
  EXPECT_EQ(std::get<SetSnapshotRef>(*ref).name, "r");
  EXPECT_EQ(std::get<SetSnapshotRef>(*ref).ref.type, RefType::kTag);
  EXPECT_EQ(std::get<SetSnapshotRef>(*ref).ref.max_ref_age_ms, 9);
  // Partition fields without ids are numbered above those with one.
  const auto spec = update(
      R"({"action":"add-spec","spec":{"fields":[{"source-id":1,"name":"a","transform":"day"},)"
      R"({"source-id":1,"name":"b","transform":"year","field-id":1005}]}})");
  EXPECT_EQ(std::get<AddPartitionSpec>(*spec).spec.fields[0].field_id, 1006);
  EXPECT_EQ(std::get<AddPartitionSpec>(*spec).spec.fields[1].field_id, 1005);
}

TEST(TableUpdateJsonTest, bad_updates_are_refused_by_the_path_of_the_member) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({})", "updates[0].action"},
      {R"({"action":7})", "updates[0].action"},
      {R"({"action":"drop-everything"})", "drop-everything"},
      {R"({"action":"add-view-version"})", "add-view-version"},
      {R"({"action":"assign-uuid","uuid":"x"})", "updates[0].uuid"},
      {R"({"action":"upgrade-format-version","format-version":"3"})", "updates[0].format-version"},
      {R"({"action":"add-schema","schema":{"type":"map","fields":[]}})", "updates[0].schema.type"},
      {R"({"action":"add-schema","schema":{"type":"struct","fields":[{"id":-1,"name":"a",)"
       R"("required":true,"type":"int"}]}})",
       "updates[0].schema"},
      {R"({"action":"add-schema","schema":{"type":"struct","fields":[{"id":1,"name":"a",)"
       R"("required":true,"type":"int","initial-default":"1"}]}})",
       "updates[0].schema.fields[0].initial-default"},
      {R"({"action":"add-spec"})", "updates[0].spec"},
      {R"({"action":"add-spec","spec":{"fields":{}}})", "updates[0].spec.fields"},
      {R"({"action":"add-snapshot","snapshot":{"snapshot-id":-1}})",
       "updates[0].snapshot.snapshot-id"},
      {R"({"action":"set-snapshot-ref","ref-name":"","type":"tag","snapshot-id":5})",
       "updates[0].ref-name"},
      {R"({"action":"set-snapshot-ref","ref-name":"a","type":"tag"})", "updates[0].snapshot-id"},
      {R"({"action":"remove-snapshots","snapshot-ids":[5,"6"]})", "updates[0].snapshot-ids[1]"},
      {R"({"action":"remove-snapshots","snapshot-ids":[1.5]})", "updates[0].snapshot-ids[0]"},
      {R"({"action":"set-properties","updates":{"a":1}})", "updates[0].updates.a"},
      {R"({"action":"remove-properties","removals":[1]})", "updates[0].removals[0]"},
      {R"({"action":"set-statistics","statistics":{"snapshot-id":5,"statistics-path":"s3://p",)"
       R"("file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[{}]}})",
       "updates[0].statistics.blob-metadata[0].type"},
      {R"({"action":"set-partition-statistics","partition-statistics":{"snapshot-id":5}})",
       "updates[0].partition-statistics.statistics-path"},
      {R"({"action":"remove-statistics"})", "updates[0].snapshot-id"}};
  for (const auto& [json, path] : cases) {
    const auto result = update(json);
    ASSERT_FALSE(result) << json;
    EXPECT_EQ(result.error().kind(), base::ErrorKind::kInvalid) << json;
    EXPECT_NE(result.error().message().find(path), std::string::npos) << result.error().message();
  }
}

TEST(TableUpdateJsonTest, encryption_is_understood_and_not_offered) {
  for (const char* action : {"add-encryption-key", "remove-encryption-key"}) {
    const auto result = update(std::string(R"({"action":")") + action + "\"}");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind(), base::ErrorKind::kUnsupported);
  }
}

TEST(TableRequirementJsonTest, each_type_becomes_its_own_type) {
  const std::vector<Case> cases = {
      {R"({"type":"assert-create"})", 0},
      {std::string(R"({"type":"assert-table-uuid","uuid":")") + kUuid + "\"}", 1},
      {R"({"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null})", 2},
      {R"({"type":"assert-last-assigned-field-id","last-assigned-field-id":3})", 3},
      {R"({"type":"assert-current-schema-id","current-schema-id":0})", 4},
      {R"({"type":"assert-last-assigned-partition-id","last-assigned-partition-id":999})", 5},
      {R"({"type":"assert-default-spec-id","default-spec-id":0})", 6},
      {R"({"type":"assert-default-sort-order-id","default-sort-order-id":0})", 7}};
  EXPECT_EQ(cases.size(), std::variant_size_v<TableRequirement>);
  for (const Case& each : cases) {
    const auto result = requirement(each.json);
    ASSERT_TRUE(result) << each.json << ": " << result.error().message();
    EXPECT_EQ(result->index(), each.alternative) << each.json;
  }
  for (const std::string& json :
       {R"({"type":"assert-view-uuid"})", R"({"type":"assert-table-uuid"})", R"({})",
        R"({"type":"assert-default-spec-id","default-spec-id":2147483648})"}) {
    const auto result = requirement(json);
    ASSERT_FALSE(result) << json;
    EXPECT_EQ(result.error().kind(), base::ErrorKind::kInvalid);
    EXPECT_NE(result.error().message().find("requirements[0]."), std::string::npos);
  }
}

TEST(TableRequestJsonTest, create_reads_all_members_and_only_needs_two) {
  const auto least =
      create_table_from_json(parsed(R"({"name":"t","schema":{"type":"struct","fields":[]}})"));
  ASSERT_TRUE(least) << least.error().message();
  EXPECT_FALSE(least->stage_create);
  EXPECT_EQ(least->spec, std::nullopt);
  const auto most = create_table_from_json(parsed(
      R"({"name":"t","location":"s3://x","stage-create":true,"properties":{"a":"b"},)"
      R"("schema":{"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":"int"}]},)"
      R"("partition-spec":{"spec-id":0,"fields":[{"source-id":1,"name":"a","transform":"identity"}]},)"
      R"("write-order":{"order-id":1,"fields":[{"source-id":1,"transform":"identity",)"
      R"("direction":"asc","null-order":"nulls-first"}]}})"));
  ASSERT_TRUE(most) << most.error().message();
  EXPECT_TRUE(most->stage_create);
  EXPECT_EQ(most->spec->fields.size(), 1u);
  EXPECT_EQ(most->order->fields.size(), 1u);
  for (const std::string& json :
       {R"({"schema":{"type":"struct","fields":[]}})", R"({"name":"t"})", R"([])",
        R"({"name":"__mask_t","schema":{"type":"struct","fields":[]}})",
        R"({"name":"t","schema":{"type":"struct","fields":[]},"stage-create":"yes"})"}) {
    const auto result = create_table_from_json(parsed(json));
    ASSERT_FALSE(result) << json;
    EXPECT_EQ(result.error().kind(), base::ErrorKind::kInvalid) << json;
  }
}

TEST(TableRequestJsonTest, commit_reads_both_lists_within_bounds) {
  const auto commit = table_commit_from_json(parsed(
      R"({"identifier":{"namespace":["a"],"name":"t"},"requirements":[{"type":"assert-create"}],)"
      R"("updates":[{"action":"set-location","location":"s3://x"}]})"));
  ASSERT_TRUE(commit) << commit.error().message();
  EXPECT_EQ(commit->identifier->display(), "a.t");
  EXPECT_EQ(commit->requirements.size(), 1u);
  EXPECT_EQ(commit->updates.size(), 1u);

  const auto with_requirements = [](int count) {
    std::string json = R"({"updates":[],"requirements":[)";
    for (int i = 0; i < count; ++i) {
      json += (i > 0 ? "," : "") + std::string(R"({"type":"assert-create"})");
    }
    return table_commit_from_json(parsed(json + "]}"));
  };
  EXPECT_TRUE(with_requirements(1000));
  EXPECT_FALSE(with_requirements(1001));
  EXPECT_FALSE(table_commit_from_json(parsed(R"({"requirements":[]})")));
  for (const char* without : {R"({"updates":[]})", R"({"requirements":null,"updates":[]})"}) {
    const auto unconditional = table_commit_from_json(parsed(without));
    ASSERT_TRUE(unconditional) << without;
    EXPECT_TRUE(unconditional->requirements.empty());
  }
  EXPECT_FALSE(table_commit_from_json(parsed(R"({"requirements":{},"updates":[]})")));
  EXPECT_FALSE(table_commit_from_json(parsed(R"({"requirements":[],"updates":{}})")));
}

TEST(TableRequestJsonTest, transaction_names_each_table_once) {
  const auto transaction = [](const std::string& changes) {
    return transaction_from_json(parsed(R"({"table-changes":[)" + changes + "]}"));
  };
  const std::string a =
      R"({"identifier":{"namespace":["n"],"name":"a"},"requirements":[],"updates":[]})";
  const std::string b =
      R"({"identifier":{"namespace":["n"],"name":"b"},"requirements":[],"updates":[]})";
  EXPECT_EQ(transaction(a + "," + b)->size(), 2u);
  EXPECT_TRUE(transaction("")->empty());
  EXPECT_FALSE(transaction(a + "," + a));
  const auto nameless = transaction(a + R"(,{"requirements":[],"updates":[]})");
  ASSERT_FALSE(nameless);
  EXPECT_NE(nameless.error().message().find("table-changes[1].identifier"), std::string::npos);
  EXPECT_FALSE(
      transaction(R"({"identifier":{"namespace":[],"name":"a"},"requirements":[],"updates":[]})"));
  EXPECT_FALSE(transaction(
      R"({"identifier":{"namespace":["n"],"name":""},"requirements":[],"updates":[]})"));
}

}  // namespace
}  // namespace lake::model

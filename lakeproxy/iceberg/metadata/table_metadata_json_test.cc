#include "lakeproxy/iceberg/metadata/table_metadata_json.h"

#include <gtest/gtest.h>

#include <ctime>

#include "base/json/json.h"
#include "base/testing/golden.h"
#include "lakeproxy/iceberg/schema/given_id.h"

namespace lake::model {
namespace {

using base::json::Value;

Value full_document() {
  return base::json::parse(base::testing::read_golden("metadata/v2_full.json")).value();
}

TableMetadata full_table() { return table_metadata_from_json(full_document()).value(); }

JsonText share(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

TEST(TableMetadataJsonTest, fragments_give_the_same_bytes_as_values) {
  for (const int version : {2, 3}) {
    TableMetadata table = full_table();
    table.format_version = version;
    MetadataFragments fragments;
    for (const Snapshot& snapshot : table.snapshots) {
      fragments.snapshots.push_back({snapshot.snapshot_id, share(write_fragment(snapshot))});
    }
    // Two entries in one text are as good as two texts.
    fragments.snapshot_log.push_back(
        share(write_fragment(table.snapshot_log[0]) + "," + write_fragment(table.snapshot_log[1])));
    fragments.metadata_log.push_back(share(write_fragment(table.metadata_log[0])));
    const std::string expected = write_metadata(table);
    const std::string expected_refs = write_metadata(table, SnapshotSelection::kRefs);
    table.snapshots = {};
    table.snapshot_log.clear();
    table.metadata_log.clear();
    EXPECT_EQ(write_metadata(table, fragments), expected);
    EXPECT_EQ(write_metadata(table, fragments, SnapshotSelection::kRefs), expected_refs);
  }
}

TEST(TableMetadataJsonTest, refs_selection_lists_only_what_refs_point_to_and_keeps_the_log) {
  TableMetadata table = full_table();
  Snapshot between = table.snapshots[0];
  between.snapshot_id = SnapshotId(77);
  SnapshotList three;
  three.push_back(table.snapshots.items()[0]);
  three.push_back(between);
  three.push_back(table.snapshots.items()[1]);
  table.snapshots = three;
  const Value all = base::json::parse(write_metadata(table)).value();
  const Value refs = base::json::parse(write_metadata(table, SnapshotSelection::kRefs)).value();
  EXPECT_EQ(all.at("snapshots").get_array().size(), 3u);
  const auto& kept = refs.at("snapshots").get_array();
  ASSERT_EQ(kept.size(), 2u);
  for (const Value& snapshot : kept) EXPECT_NE(snapshot.at("snapshot-id").as_int64(), 77);
  EXPECT_EQ(refs.at("snapshot-log"), all.at("snapshot-log"));
}

TEST(TableMetadataJsonTest, snapshots_out_of_order_are_put_in_order) {
  Value document = full_document();
  auto& snapshots = document.at("snapshots").as_array();
  std::swap(snapshots[0], snapshots[1]);
  EXPECT_EQ(table_metadata_from_json(document).value().snapshots, full_table().snapshots);
}

// So many multiples of it would meet in one bucket of a hash table of that size.
TEST(TableMetadataJsonTest, ids_that_were_chosen_to_collide_cost_no_more_than_others) {
  constexpr std::int64_t kBuckets = 172'933;
  constexpr std::int64_t kSnapshots = 160'000;
  Value document = full_document();
  auto& snapshots = document.at("snapshots").as_array();
  Value one = snapshots[1];
  one.at("summary") = {{"operation", "append"}};
  snapshots.reserve(kSnapshots + 2);
  for (std::int64_t i = 1; i <= kSnapshots; ++i) {
    Value& snapshot = snapshots.emplace_back(one);
    snapshot.at("snapshot-id") = i * kBuckets;
  }
  const std::clock_t began = std::clock();
  auto table = table_metadata_from_json(document);
  const std::clock_t took = std::clock() - began;
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(table->snapshots.size(), kSnapshots + 2);
  EXPECT_LT(took / CLOCKS_PER_SEC, 10);
}

TEST(TableMetadataJsonTest, main_is_there_when_a_current_snapshot_is) {
  Value document = full_document();
  document.as_object().erase("refs");
  const TableMetadata table = table_metadata_from_json(document).value();
  ASSERT_TRUE(table.refs.contains("main"));
  EXPECT_EQ(table.refs.at("main").snapshot_id, *table.current_snapshot_id);
  EXPECT_EQ(table.current_snapshot(), &table.snapshots[1]);
  document.at("current-snapshot-id") = nullptr;
  EXPECT_TRUE(table_metadata_from_json(document).value().refs.empty());
}

TEST(TableMetadataJsonTest, the_highest_id_leaves_room_for_the_next) {
  Value document = full_document();
  document.at_pointer("/schemas/0/schema-id") = kMostGivenId;
  document.at_pointer("/partition-specs/0/spec-id") = kMostGivenId;
  document.at("last-partition-id") = kMostGivenId;
  EXPECT_TRUE(table_metadata_from_json(document));
}

struct Bad {
  const char* name;
  const char* pointer;  ///< Of the member to replace.
  Value value;          ///< Null removes nothing: it is a value of its own.
  const char* mentions;
  base::ErrorKind kind = base::ErrorKind::kInvalid;
};

TEST(TableMetadataJsonTest, bad_documents_are_refused_by_the_path_of_the_member) {
  using base::ErrorKind;
  const std::vector<Bad> cases = {
      {"version_0", "/format-version", 0, "format-version", ErrorKind::kUnsupported},
      {"version_4", "/format-version", 4, "format-version", ErrorKind::kUnsupported},
      {"v3_without_row_id", "/format-version", 3, "next-row-id"},
      {"uuid", "/table-uuid", "x", "table-uuid"},
      {"no_uuid", "/table-uuid", nullptr, "table-uuid"},
      {"location", "/location", 1, "location"},
      {"sequence", "/last-sequence-number", nullptr, "last-sequence-number"},
      {"no_schemas", "/schemas", nullptr, "current-schema-id"},
      {"current_schema", "/current-schema-id", 9, "current-schema-id"},
      {"column_id_high", "/last-column-id", 11, "last-column-id"},
      {"schema_twice", "/schemas/1/schema-id", 0, "schemas"},
      {"schema_id_high", "/schemas/0/schema-id", kMostGivenId + 1, "schemas: schema-id"},
      {"schema_id_negative", "/schemas/0/schema-id", -1, "schemas: schema-id"},
      {"type", "/schemas/1/fields/3/type", "decimal(39,2)", "schemas[1].fields[3].type"},
      {"nested_type", "/schemas/1/fields/6/type/value/element", "dat",
       "schemas[1].fields[6].type.value.element"},
      {"nested_kind", "/schemas/1/fields/6/type/type", "set", "schemas[1].fields[6].type.type"},
      {"field_id", "/schemas/1/fields/0/id", "1", "schemas[1].fields[0].id"},
      {"required", "/schemas/1/fields/0/required", 1, "schemas[1].fields[0].required"},
      {"duplicate_name", "/schemas/1/fields/0/name", "y", "schema 1"},
      {"default_spec", "/default-spec-id", 9, "default-spec-id"},
      {"spec_twice", "/partition-specs/0/spec-id", 1, "partition-specs"},
      {"spec_id_high", "/partition-specs/0/spec-id", kMostGivenId + 1, "partition-specs: spec-id"},
      {"partition_id_high", "/last-partition-id", kMostGivenId + 1, "last-partition-id"},
      {"partition_field_id_high", "/partition-specs/1/fields/0/field-id", kMostGivenId + 1,
       "field-id"},
      {"source_id", "/partition-specs/1/fields/0/source-id", nullptr,
       "partition-specs[1].fields[0].source-id"},
      {"transform", "/partition-specs/1/fields/0/transform", "",
       "partition-specs[1].fields[0].transform"},
      {"default_order", "/default-sort-order-id", 9, "default-sort-order-id"},
      {"order_id_high", "/sort-orders/0/order-id", kMostGivenId + 1, "sort-orders: order-id"},
      {"direction", "/sort-orders/1/fields/0/direction", "up",
       "sort-orders[1].fields[0].direction"},
      {"null_order", "/sort-orders/1/fields/0/null-order", "first",
       "sort-orders[1].fields[0].null-order"},
      {"property", "/properties/owner", 7, "properties.owner"},
      {"snapshot_twice", "/snapshots/0/snapshot-id", 3055729675574597004, "snapshots"},
      {"snapshot_id", "/snapshots/0/snapshot-id", -5, "snapshots[0].snapshot-id"},
      {"operation", "/snapshots/0/summary/operation", "insert", "snapshots[0].summary.operation"},
      {"summary", "/snapshots/0/summary", nullptr, "snapshots[0].summary"},
      {"summary_value", "/snapshots/0/summary/added-files", 1, "snapshots[0].summary.added-files"},
      {"manifest_list", "/snapshots/1/manifest-list", nullptr, "snapshots[1].manifest-list"},
      {"ref_type", "/refs/rel-1/type", "label", "refs.rel-1.type"},
      {"ref_age", "/refs/rel-1/max-ref-age-ms", 0, "refs.rel-1.max-ref-age-ms"},
      {"ref_keep", "/refs/audit/min-snapshots-to-keep", 0, "refs.audit.min-snapshots-to-keep"},
      {"tag_keeps", "/refs/audit/type", "tag", "refs.audit"},
      {"ref_target", "/refs/rel-1/snapshot-id", 5, "refs.rel-1"},
      {"current_snapshot", "/current-snapshot-id", 3051729675574597004, "current-snapshot-id"},
      {"log", "/snapshot-log/0/timestamp-ms", "x", "snapshot-log[0].timestamp-ms"},
      {"metadata_log", "/metadata-log/0/metadata-file", nullptr, "metadata-log[0].metadata-file"},
  };
  for (const Bad& bad : cases) {
    Value document = full_document();
    document.at_pointer(bad.pointer) = bad.value;
    const auto table = table_metadata_from_json(document);
    ASSERT_FALSE(table) << bad.name;
    EXPECT_EQ(table.error().kind(), bad.kind) << bad.name << ": " << table.error().message();
    EXPECT_NE(table.error().message().find(bad.mentions), std::string::npos)
        << bad.name << ": " << table.error().message();
  }
}

TEST(TableMetadataJsonTest, encrypted_tables_are_refused) {
  Value document = full_document();
  document.as_object()["encryption-keys"] = base::json::Array{};
  EXPECT_TRUE(table_metadata_from_json(document));
  document.as_object()["encryption-keys"] = base::json::Array{base::json::Object{}};
  const auto table = table_metadata_from_json(document);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().kind(), base::ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace lake::model

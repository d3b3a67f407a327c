#include "lakeproxy/to_iceberg/masked/shadow_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/iceberg/manifest/manifest_reader.h"

namespace lake::masked {
namespace {

using model::DataFile;
using model::Field;
using model::SnapshotId;
using model::Type;
using model::TypeKind;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "very-secret";

policy::MaskPlan plan_of(std::string signature = "0f") {
  policy::MaskPlan plan{.signature = std::move(signature)};
  plan.masks.push_back({.field = 2,
                        .column = "ssn",
                        .expression = R"(left("ssn", 2))",
                        .policy = "hide_ssn",
                        .why = "attached to the column"});
  plan.filters.push_back({.policy = "own_region",
                          .predicate = R"("region" = 'eu')",
                          .columns = {{3, "region"}},
                          .why = "attached to the table"});
  return plan;
}

/// A table t of three columns, with one file that tells a secret wherever Iceberg has a place for
/// it.
class ShadowTables : public ::testing::Test {
 protected:
  ShadowTables() {
    model::LakeTable table;
    table.table_id = model::TableId(3);
    table.name = "t";
    table.metadata.location = "s3://lake/t";
    Field ssn{.id = 2, .name = "ssn", .type = Type(TypeKind::kString), .required = true};
    ssn.doc = "number";
    ssn.initial_default = std::string(kSecret);
    ssn.write_default = std::string(kSecret);
    model::Schema old{.fields = {{.id = 9, .name = kSecret, .type = Type(TypeKind::kString)}}};
    model::Schema now{.schema_id = 1,
                      .fields = {{.id = 1, .name = "id", .type = Type(TypeKind::kLong)},
                                 ssn,
                                 {.id = 3, .name = "region", .type = Type(TypeKind::kString)}},
                      .identifier_field_ids = {2}};
    table.metadata.schemas = {old, now};
    table.metadata.current_schema_id = 1;
    table.metadata.partition_specs = {{}, {1, {{2, 1000, "ssn_part", {}}}}};
    table.metadata.default_spec_id = 1;
    table.metadata.sort_orders = {{}};
    table.metadata.last_column_id = 9;
    table.metadata.properties = {{"schema.name-mapping.default", kSecret}, {"owner", "anna"}};
    model::Snapshot snapshot{.snapshot_id = SnapshotId(5),
                             .sequence_number = 4,
                             .timestamp_ms = 5000,
                             .manifest_list = "s3://lake/t/list",
                             .summary = {{"note", kSecret}},
                             .schema_id = 1};
    table.materialized.push_back({.snapshot_id = SnapshotId(2),
                                  .sequence_number = 1,
                                  .timestamp_ms = 2000,
                                  .manifest_list = "s3://lake/t/old",
                                  .schema_id = 0});
    table.materialized.push_back(snapshot);
    base_ = publish::make_loaded_table(std::move(table), nullptr);

    DataFile file{.file_path = "s3://lake/t/ssn=very-secret/f.parquet",
                  .partition = {model::Literal(std::string(kSecret))},
                  .record_count = 10,
                  .file_size_in_bytes = 1000};
    file.metrics[2] = {.lower_bound = kSecret, .upper_bound = kSecret};
    add(model::ManifestContent::kData, 1,
        {{.snapshot_id = SnapshotId(2),
          .sequence_number = 1,
          .file_sequence_number = 1,
          .data_file = file}});
  }

  void add(model::ManifestContent content, std::int32_t spec,
           std::vector<model::ManifestEntry> entries) {
    model::ManifestFile manifest{.partition_spec_id = spec,
                                 .content = content,
                                 .sequence_number = 4,
                                 .added_snapshot_id = SnapshotId(5)};
    list_.push_back(
        {manifest, std::make_shared<const std::vector<model::ManifestEntry>>(std::move(entries))});
  }
  model::ManifestEntry deletes(const char* path, std::int64_t sequence) {
    DataFile file{.content = model::FileContent::kPositionDeletes,
                  .file_path = path,
                  .partition = {model::Literal(std::string(kSecret))},
                  .record_count = 1,
                  .referenced_data_file = "s3://lake/t/ssn=very-secret/f.parquet"};
    return {.snapshot_id = SnapshotId(5), .sequence_number = sequence, .data_file = file};
  }
  std::vector<FileToMask> files(const policy::MaskPlan& plan) {
    auto files = files_to_mask(base_->metadata, list_, plan);
    EXPECT_TRUE(files) << files.error().message();
    return files ? std::move(*files) : std::vector<FileToMask>();
  }
  ShadowTable shadow(const policy::MaskPlan& plan, std::int64_t rows = 6) {
    auto all = files(plan);
    MadeCopies made;
    for (const auto& file : all) made[file.name] = {{file.copy.location, rows, 500}};
    auto shadow = shadow_table(*base_, plan, all, made, nullptr);
    EXPECT_TRUE(shadow) << shadow.error().message();
    return std::move(*shadow);
  }

  publish::LoadedTablePtr base_;
  std::vector<materialize::ListedManifest> list_;
};

TEST_F(ShadowTables, name_a_copy_after_its_file_its_deletes_and_its_signature) {
  const auto before = files(plan_of());
  ASSERT_EQ(before.size(), 1U);
  EXPECT_EQ(before[0].copy.location, "s3://lake/t/metadata/lake/masked/0f/data/" + before[0].name);
  EXPECT_EQ(before[0].name.size(), 32U);
  EXPECT_EQ(files(plan_of())[0].name, before[0].name);
  EXPECT_NE(files(plan_of("1e"))[0].copy.location, before[0].copy.location);
  // A delete of before the file does not count; a newer one makes another copy.
  add(model::ManifestContent::kDeletes, 1, {deletes("s3://lake/t/d0", 0)});
  EXPECT_EQ(files(plan_of())[0].name, before[0].name);
  add(model::ManifestContent::kDeletes, 1, {deletes("s3://lake/t/d1", 4)});
  const auto after = files(plan_of());
  EXPECT_NE(after[0].name, before[0].name);
  ASSERT_EQ(after[0].copy.deletes.size(), 1U);
  EXPECT_EQ(after[0].copy.deletes[0].file_path, "s3://lake/t/d1");
}

TEST_F(ShadowTables, tell_no_value_in_any_object) {
  const ShadowTable made = shadow(plan_of());
  ASSERT_EQ(made.objects.size(), 3U);  // A manifest, the list, metadata.json.
  for (const auto& object : made.objects) {
    EXPECT_THAT(object.location, ::testing::StartsWith("s3://lake/t/metadata/lake/masked/0f/"));
  }
  EXPECT_THAT(std::string(made.loaded->document()), Not(HasSubstr(kSecret)));
  auto manifest = materialize::read_manifest(made.objects[0].bytes);
  ASSERT_TRUE(manifest) << manifest.error().message();
  ASSERT_EQ(manifest->entries.size(), 1U);
  const DataFile& file = manifest->entries[0].data_file;
  EXPECT_TRUE(file.metrics.empty());
  EXPECT_TRUE(file.partition.empty());
  EXPECT_EQ(file.record_count, 6);
  EXPECT_EQ(file.file_path, files(plan_of())[0].copy.location);
  EXPECT_EQ(manifest->entries[0].sequence_number, 1);
}

TEST_F(ShadowTables, show_the_newest_snapshot_and_the_columns_of_now) {
  const ShadowTable made = shadow(plan_of());
  const model::TableMetadata& metadata = made.loaded->metadata;
  EXPECT_EQ(metadata.location, "s3://lake/t/metadata/lake/masked/0f");
  ASSERT_EQ(metadata.snapshots.size(), 1U);
  EXPECT_EQ(metadata.snapshots[0].snapshot_id, SnapshotId(5));
  EXPECT_EQ(metadata.snapshots[0].summary.at("total-records"), "6");
  ASSERT_EQ(metadata.schemas.size(), 1U);
  const Field& ssn = *metadata.current_schema().find(2);
  EXPECT_EQ(ssn.doc, "number (masked by policy hide_ssn)");
  EXPECT_FALSE(ssn.required);
  EXPECT_FALSE(ssn.initial_default || ssn.write_default);
  EXPECT_TRUE(metadata.current_schema().identifier_field_ids.empty());
  EXPECT_EQ(metadata.properties,
            (std::map<std::string, std::string>{{"lakeproxy.masked-columns", "ssn"},
                                                {"lakeproxy.mask.ssn", R"(left("ssn", 2))"},
                                                {"owner", "anna"}}));
}

TEST_F(ShadowTables, have_the_same_bytes_for_the_same_state_and_others_for_another_signature) {
  const ShadowTable one = shadow(plan_of());
  const ShadowTable same = shadow(plan_of());
  const ShadowTable other = shadow(plan_of("1e"));
  EXPECT_EQ(one.loaded->etag, same.loaded->etag);
  EXPECT_EQ(one.objects[0].sha256, same.objects[0].sha256);
  EXPECT_NE(one.loaded->etag, other.loaded->etag);
  EXPECT_NE(one.loaded->etag, base_->etag);
}

TEST_F(ShadowTables, leave_out_files_of_which_no_row_is_left) {
  const ShadowTable made = shadow(plan_of(), 0);
  ASSERT_EQ(made.objects.size(), 2U);
  EXPECT_EQ(made.loaded->metadata.snapshots[0].summary.at("total-data-files"), "0");
}

TEST_F(ShadowTables, are_refused_where_the_plan_is_of_other_columns) {
  policy::MaskPlan plan = plan_of();
  plan.masks[0].column = "was_renamed";
  auto refused = files_to_mask(base_->metadata, list_, plan);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), base::ErrorKind::kUnavailable);
  plan = plan_of();
  plan.filters[0].columns[0].field = 77;
  EXPECT_FALSE(files_to_mask(base_->metadata, list_, plan));
}

TEST_F(ShadowTables, a_copy_has_the_same_name_where_an_entry_tells_what_version_2_does_not_hold) {
  const std::string read = files(plan_of())[0].name;
  auto written = *list_[0].entries;
  written[0].data_file.first_row_id = 7;
  list_[0].entries = std::make_shared<const std::vector<model::ManifestEntry>>(written);
  auto all = files(plan_of());
  EXPECT_EQ(all[0].name, read);
  EXPECT_FALSE(all[0].copy.origin.first_row_id);
  model::TableMetadata newer = base_->metadata;
  newer.format_version = 3;
  auto of_3 = files_to_mask(newer, list_, plan_of());
  ASSERT_TRUE(of_3) << of_3.error().message();
  EXPECT_NE((*of_3)[0].name, read);
  EXPECT_EQ((*of_3)[0].copy.origin.first_row_id, 7);
}

TEST_F(ShadowTables, are_refused_without_one_of_the_copies) {
  EXPECT_FALSE(shadow_table(*base_, plan_of(), files(plan_of()), {}, nullptr));
}

}  // namespace
}  // namespace lake::masked

#include "lakeproxy/to_iceberg/masked/mask_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::masked {
namespace {

using model::Field;
using model::Type;
using model::TypeKind;
using ::testing::HasSubstr;
using ::testing::Not;

policy::MaskPlan plan_of() {
  policy::MaskPlan plan{.signature = "0f"};
  plan.masks.push_back({.field = 2,
                        .column = "ssn",
                        .expression = R"(left("ssn", 2))",
                        .policy = "hide_ssn",
                        .why = "attached to the column"});
  plan.filters.push_back({.policy = "a", .predicate = "id < 9", .columns = {{1, "id"}}});
  plan.filters.push_back({.policy = "b", .predicate = "id > 1", .columns = {{1, "id"}}});
  return plan;
}

publish::LoadedTablePtr table() {
  model::LakeTable table;
  table.table_id = model::TableId(3);
  table.name = "t";
  table.metadata.location = "s3://lake/t";
  Field ssn{.id = 2, .name = "ssn", .type = Type(TypeKind::kString)};
  ssn.doc = "number";
  table.metadata.schemas = {
      {.fields = {{.id = 1, .name = "id", .type = Type(TypeKind::kLong)}, ssn}}};
  table.metadata.partition_specs = {{}};
  table.metadata.sort_orders = {{}};
  table.metadata.properties = {{"owner", "anna"}, {"iceberg.row-filter", "true"}};
  table.materialized.push_back({.snapshot_id = model::SnapshotId(2),
                                .sequence_number = 1,
                                .timestamp_ms = 2000,
                                .manifest_list = "s3://lake/t/list",
                                .schema_id = 0});
  return publish::make_loaded_table(std::move(table), nullptr);
}

TEST(MaskMarks, tell_columns_masks_and_rows_beside_the_tables_own_properties) {
  const auto base = table();
  const auto marked = marked_table(*base, plan_of());
  const auto& properties = marked->metadata.properties;
  EXPECT_EQ(properties.at("lakeproxy.masked-columns"), "ssn");
  EXPECT_EQ(properties.at("lakeproxy.mask.ssn"), R"(left("ssn", 2))");
  EXPECT_EQ(properties.at("iceberg.row-filter"), "(id < 9) AND (id > 1)");
  EXPECT_EQ(properties.at("owner"), "anna");
  EXPECT_EQ(properties.at("lakeproxy.masking-view-name"), "__mask_t__0f");
  for (const auto& body : {marked->body, marked->body_refs}) {
    EXPECT_THAT(*body, HasSubstr("number (masked by policy hide_ssn)"));
    EXPECT_THAT(*body, HasSubstr("s3://lake/t/list"));
  }
  EXPECT_THAT(*base->body, Not(HasSubstr("masked by policy")));
}

TEST(MaskMarks, make_another_answer_of_the_same_state) {
  const auto base = table();
  const auto marked = marked_table(*base, plan_of());
  EXPECT_NE(marked->etag, base->etag);
  EXPECT_EQ(marked->etag, marked_table(*base, plan_of())->etag);
  policy::MaskPlan other = plan_of();
  other.signature = "10";
  EXPECT_NE(marked_table(*base, other)->etag, marked->etag);
  publish::LoadedTable renamed = *base;
  renamed.table.name = "u";
  EXPECT_NE(marked_table(renamed, plan_of())->etag, marked->etag);
  EXPECT_EQ(marked->metadata_location, base->metadata_location);
  EXPECT_EQ(marked->packed->all.get(), nullptr);
  EXPECT_NE(marked->packed, base->packed);
}

TEST(MaskMarks, name_no_view_where_the_table_has_none) {
  publish::LoadedTable base = *table();
  EXPECT_TRUE(has_masking_views(base.metadata));
  base.metadata.properties["lakeproxy.masking-disabled"] = "true";
  EXPECT_FALSE(has_masking_views(base.metadata));
  const auto marked = marked_table(base, plan_of());
  EXPECT_FALSE(marked->metadata.properties.contains("lakeproxy.masking-view-name"));
  EXPECT_EQ(marked->metadata.properties.at("lakeproxy.masked-columns"), "ssn");
}

TEST(MaskMarks, of_rows_alone_name_no_column) {
  policy::MaskPlan plan = plan_of();
  plan.masks.clear();
  const auto marked = marked_table(*table(), plan);
  EXPECT_FALSE(marked->metadata.properties.contains("lakeproxy.masked-columns"));
  EXPECT_EQ(marked->metadata.properties.at("iceberg.row-filter"), "(id < 9) AND (id > 1)");
}

TEST(MaskMarks, come_off_what_a_client_sends_back) {
  const auto base = table();
  model::Schema sent = marked_table(*base, plan_of())->metadata.current_schema();
  drop_notes(sent);
  EXPECT_EQ(sent, base->metadata.current_schema());

  Field bare{.id = 4, .name = "a", .type = Type(TypeKind::kString)};
  note_mask(plan_of().masks[0], bare);
  EXPECT_EQ(bare.doc, "masked by policy hide_ssn");
  Field plain{.id = 5, .name = "b", .type = Type(TypeKind::kString)};
  plain.doc = "size (of the box)";
  model::Schema schema{.fields = {bare, plain}};
  drop_notes(schema);
  EXPECT_FALSE(schema.fields[0].doc.has_value());
  EXPECT_EQ(schema.fields[1].doc, "size (of the box)");
}

}  // namespace
}  // namespace lake::masked

#include "lakeproxy/derive/plan/derived_object_names.h"

#include <gtest/gtest.h>

namespace lake::materialize {
namespace {

TEST(DerivedObjectNames, the_place_of_inlined_rows_is_found_by_its_location_alone) {
  model::LakeTable table;
  table.metadata.location = "s3://lake/t";
  auto place = parse_inlined_location(table, inlined_location(table, 3, model::SnapshotId(12)));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->schema_version, 3);
  EXPECT_EQ(place->begin, model::SnapshotId(12));
  EXPECT_EQ(inlined_location(table, 3, model::SnapshotId(12)),
            "s3://lake/t/metadata/lake/inlined-3-12-0");
  const std::string changed = inlined_location(table, 3, model::SnapshotId(12), "0123456789abcdef");
  EXPECT_EQ(changed, "s3://lake/t/metadata/lake/inlined-3-12-0-c0123456789abcdef");
  place = parse_inlined_location(table, changed);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->begin, model::SnapshotId(12));
  for (const char* other :
       {"s3://lake/t/metadata/lake/inlined-3-12-00", "s3://lake/t/metadata/lake/inlined-3-12",
        "s3://lake/t/metadata/lake/inlined-3-12-0-v3", "s3://lake/t/metadata/lake/inlined-03-12-0",
        "s3://lake/t/metadata/lake/inlined-3-12-0-c",
        "s3://lake/t/metadata/lake/inlined-3-12-0-cX1",
        "s3://lake/t/metadata/lake/inlined-3-12-c0123456789abcdef",
        "s3://lake/t/metadata/lake/inlined-3-x-0", "s3://lake/t/metadata/lake/inlined-3-12-7",
        "s3://lake/t/metadata/lake/inlined-3-12-0.parquet", "s3://lake/t/metadata/inlined-3-12-0",
        "s3://lake/u/metadata/lake/inlined-3-12-0", "s3://lake/t/data/a.parquet", "inlined-3-12-0",
        ""}) {
    EXPECT_FALSE(parse_inlined_location(table, other)) << other;
  }
}

}  // namespace
}  // namespace lake::materialize

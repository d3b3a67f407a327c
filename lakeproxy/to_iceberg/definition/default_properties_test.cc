#include "lakeproxy/to_iceberg/definition/default_properties.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using Properties = std::map<std::string, std::string>;

LakeColumn column(std::string type, std::optional<model::SnapshotId> end = std::nullopt) {
  return {.id = 1, .begin = model::SnapshotId(1), .end = end, .name = "c", .type = std::move(type)};
}

TEST(DefaultProperties, clients_delete_no_files) {
  EXPECT_EQ(default_properties({.columns = {column("int32"), column("int16")}}),
            (Properties{{"gc.enabled", "false"}}));
}

TEST(DefaultProperties, variants_are_read_row_by_row) {
  const Properties both{{"gc.enabled", "false"}, {"read.parquet.vectorization.enabled", "false"}};
  EXPECT_EQ(default_properties({.columns = {column("int32"), column("variant")}}), both);
  EXPECT_EQ(default_properties({.columns = {column("variant", model::SnapshotId(5))}}), both)
      << "dropped";
}

}  // namespace
}  // namespace lake::ducklake

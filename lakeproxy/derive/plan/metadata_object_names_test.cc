#include "lakeproxy/derive/plan/metadata_object_names.h"

#include <gtest/gtest.h>

#include "lakeproxy/derive/plan/content_hash.h"

namespace lake::materialize {
namespace {

constexpr std::string_view kTable = "s3://b/data/s/t";
constexpr MetadataObjectPlace kPlace{kTable, model::SnapshotId(12)};

TEST(MetadataObjectNames, what_is_published_is_known_by_its_folder) {
  EXPECT_EQ(manifest_location(kPlace, 3, "0123456789abcdef"),
            "s3://b/data/s/t/metadata/lake/12-0-m3-0123456789abcdef.avro");
  EXPECT_EQ(list_location(kPlace, "0123456789abcdef"),
            "s3://b/data/s/t/metadata/lake/snap-12-0-0123456789abcdef.avro");
  EXPECT_TRUE(is_published_object(manifest_location(kPlace, 0, content_hash("x")), kTable));
  EXPECT_TRUE(is_published_object(list_location(kPlace, content_hash("x")), kTable));
  EXPECT_TRUE(is_published_object("s3://b/data/s/t/metadata/lake/deletes-1-2-3", kTable));
}

TEST(MetadataObjectNames, names_that_clients_give_are_theirs) {
  for (const char* name : {
           "snap-12-0-6f2c2d0e-77a0-4dd5-8d6d-0d2f9d1f7f10.avro",
           "12-0-m0-0123456789abcdef.avro",
           "deletes-1-2-3",
           "lake",
           "lake/",
           "lakes/12-0-m0-0123456789abcdef.avro",
           "Lake/12-0-m0-0123456789abcdef.avro",
           "sub/lake/12-0-m0-0123456789abcdef.avro",
       }) {
    EXPECT_FALSE(is_published_object(std::string(kTable) + "/metadata/" + name, kTable)) << name;
  }
}

TEST(MetadataObjectNames, another_place_is_no_place_of_the_table) {
  std::string list = list_location(kPlace, content_hash("x"));
  EXPECT_FALSE(is_published_object(list, "s3://b/data/s/t2"));
  EXPECT_FALSE(is_published_object(list, "s3://b/data/s"));
  EXPECT_FALSE(is_published_object("s3://b/data/s/t/data/deletes-1", kTable));
}

}  // namespace
}  // namespace lake::materialize

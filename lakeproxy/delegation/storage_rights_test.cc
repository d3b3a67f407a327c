#include "lakeproxy/delegation/storage_rights.h"

#include <gtest/gtest.h>

namespace lake::delegation {
namespace {

using storage::Location;
using storage::ObjectKey;

Location at(const char* url) { return *Location::parse(url); }
ObjectKey key(std::string_view text) { return *ObjectKey::parse(text); }

StorageRightsPtr rights(KeyAccess access, RightsPlaces places) {
  return *StorageRights::make("lake", places, access);
}
StorageRightsPtr rights(KeyAccess access) {
  return rights(access, {.table = at("s3://lake/data/s/t"),
                         .listed = {at("s3://lake/raw/"), at("s3://other/raw/")},
                         .others = {at("s3://lake/data/s/t/sub"), at("s3://lake/data/s/u")}});
}

TEST(StorageRights, opens_the_table_and_what_is_listed) {
  const auto reader = rights(KeyAccess::kRead);
  for (const char* open : {"data/s/t/data/a.parquet", "data/s/t/metadata/lake/1.avro",
                           "data/s/t/metadata/x.avro", "raw/b.parquet"}) {
    EXPECT_TRUE(reader->may_read(key(open))) << open;
  }
  for (const char* closed :
       {"data/s/t2/data/a.parquet", "data/s/t", "data/s/u/a.parquet", "data/s/T/a.parquet",
        "rawer/b.parquet", "raw", "other", "data/s/t/sub/a.parquet", "s/t/a.parquet"}) {
    EXPECT_FALSE(reader->may_read(key(closed))) << closed;
  }
}

TEST(StorageRights, a_reader_writes_nothing) {
  const auto reader = rights(KeyAccess::kRead);
  for (const char* one : {"data/s/t/data/a.parquet", "data/s/t/metadata/lake/1.avro", "raw/b"}) {
    EXPECT_FALSE(reader->may_put(key(one))) << one;
    EXPECT_FALSE(reader->may_remove(key(one))) << one;
  }
  EXPECT_TRUE(reader->writable_prefixes().empty());
}

TEST(StorageRights, a_writer_adds_to_the_table_but_not_to_what_the_server_keeps) {
  const auto writer = rights(KeyAccess::kReadWrite);
  for (const char* open : {"data/s/t/data/a.parquet", "data/s/t/metadata/x.avro",
                           "data/s/t/metadata/lakes/x.avro", "data/s/t/metadata/lake"}) {
    EXPECT_TRUE(writer->may_put(key(open))) << open;
    EXPECT_TRUE(writer->may_remove(key(open))) << open;
  }
  for (const char* closed :
       {"data/s/t/metadata/lake/1-0-m0-0123456789abcdef.avro", "data/s/t/metadata/lake/a/b",
        "data/s/t2/data/a.parquet", "data/s/t/sub/data/a.parquet", "raw/b.parquet"}) {
    EXPECT_FALSE(writer->may_put(key(closed))) << closed;
    EXPECT_FALSE(writer->may_remove(key(closed))) << closed;
  }
}

TEST(StorageRights, lists_whole_segments_alone) {
  const auto open =
      rights(KeyAccess::kRead, {.table = at("s3://lake/data/s/t/"), .listed = {}, .others = {}});
  for (const char* good : {"data/s/t/", "data/s/t/data/", "data/s/t/data/a"}) {
    EXPECT_TRUE(open->may_list(good)) << good;
  }
  for (const char* bad : {"", "/", "data/s/t", "data/s/", "data/s/t2/", "/data/s/t/", "data/s/t//",
                          "data/s/t/../u/", "data/s/t/./", "data/s/t/\n"}) {
    EXPECT_FALSE(open->may_list(bad)) << bad;
  }
}

TEST(StorageRights, lists_nothing_that_holds_anothers_folder) {
  const auto reader = rights(KeyAccess::kRead);
  for (const char* bad : {"data/s/t/", "data/s/t/sub/", "data/s/t/su", "data/s/t/sub/data/"}) {
    EXPECT_FALSE(reader->may_list(bad)) << bad;
  }
  EXPECT_TRUE(reader->may_list("data/s/t/data/"));
  EXPECT_TRUE(reader->may_list("raw/"));
}

TEST(StorageRights, there_are_none_without_a_folder) {
  for (const char* nowhere : {"s3://other/data/s/t", "s3://lake/", "s3://lake"}) {
    auto made = StorageRights::make("lake", {.table = at(nowhere), .listed = {}, .others = {}},
                                    KeyAccess::kRead);
    ASSERT_FALSE(made) << nowhere;
    EXPECT_EQ(made.error().kind(), base::ErrorKind::kForbidden);
  }
}

TEST(StorageRights, a_listed_bucket_opens_no_bucket) {
  const auto reader = rights(
      KeyAccess::kRead, {.table = at("s3://lake/t"), .listed = {at("s3://lake/")}, .others = {}});
  EXPECT_FALSE(reader->may_read(key("u/a.parquet")));
  EXPECT_FALSE(reader->may_list(""));
}

}  // namespace
}  // namespace lake::delegation

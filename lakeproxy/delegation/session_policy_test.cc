#include "lakeproxy/delegation/session_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.h"

namespace lake::delegation {
namespace {

using storage::Location;
using storage::ObjectKey;
using testing::HasSubstr;
using testing::Not;

RightsPlaces places(const std::string& table) {
  return {.table = *Location::parse("s3://lake/" + table), .listed = {}, .others = {}};
}
StorageRightsPtr rights(KeyAccess access, RightsPlaces of = places("data/s/t")) {
  return *StorageRights::make("lake", of, access);
}
ShownObjects shown(std::initializer_list<const char*> names) {
  std::vector<ObjectKey> keys;
  for (const char* name : names) keys.push_back(*ObjectKey::parse(name));
  return keys;
}
ShownObjects many(std::size_t count) {
  std::vector<ObjectKey> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(*ObjectKey::parse("data/s/t/data/" + std::to_string(10000 + i) + ".parquet"));
  }
  return keys;
}
std::string text(const StorageRightsPtr& of, const ShownObjects& files) {
  auto made = session_policy(*of, files);
  EXPECT_TRUE(made) << made.error().message();
  if (!made) return {};
  EXPECT_TRUE(base::json::parse(made->text)) << made->text;
  return made->text;
}

TEST(SessionPolicy, a_reader_gets_the_files_the_metadata_and_the_names) {
  EXPECT_EQ(
      text(rights(KeyAccess::kRead), shown({"data/s/t/data/a.parquet", "data/s/t/data/b.parquet"})),
      R"({"Version":"2012-10-17","Statement":[)"
      R"({"Effect":"Allow","Action":"s3:GetObject","Resource":["arn:aws:s3:::lake/data/s/t/metadata/*",)"
      R"("arn:aws:s3:::lake/data/s/t/data/a.parquet","arn:aws:s3:::lake/data/s/t/data/b.parquet"]},)"
      R"({"Effect":"Allow","Action":"s3:ListBucket","Resource":"arn:aws:s3:::lake",)"
      R"("Condition":{"StringLike":{"s3:prefix":"data/s/t/*"}}}]})");
}

// Of a direct reader: the first folder, and those beside it.
RightsPlaces folders(std::initializer_list<std::string> paths,
                     std::initializer_list<std::string> closed = {}) {
  RightsPlaces of = places(*paths.begin());
  for (const std::string* path = paths.begin() + 1; path != paths.end(); ++path) {
    of.listed.push_back(*Location::parse("s3://lake/" + *path));
  }
  for (const std::string& path : closed) {
    of.others.push_back(*Location::parse("s3://lake/" + path));
  }
  return of;
}

TEST(FolderPolicy, opens_whole_folders_for_reading_alone) {
  auto made = folder_policy(*rights(KeyAccess::kRead, folders({"data/s/t/", "data/s/u/"})), {});
  ASSERT_TRUE(made);
  EXPECT_EQ(
      *made,
      R"({"Version":"2012-10-17","Statement":[)"
      R"({"Effect":"Allow","Action":"s3:GetObject","Resource":["arn:aws:s3:::lake/data/s/t/*",)"
      R"("arn:aws:s3:::lake/data/s/u/*"]},)"
      R"({"Effect":"Allow","Action":"s3:ListBucket","Resource":"arn:aws:s3:::lake",)"
      R"("Condition":{"StringLike":{"s3:prefix":["data/s/t/*","data/s/u/*"]}}}]})");
}

TEST(FolderPolicy, closes_what_is_others) {
  auto made =
      folder_policy(*rights(KeyAccess::kRead, folders({"data/s/"}, {"data/s/of-others/"})), {});
  ASSERT_TRUE(made);
  EXPECT_THAT(*made, HasSubstr(R"({"Effect":"Deny","Action":"s3:*",)"
                               R"("Resource":"arn:aws:s3:::lake/data/s/of-others/*"})"));
  EXPECT_THAT(*made, Not(HasSubstr("ListBucket")));
}

TEST(FolderPolicy, is_all_of_them_or_none) {
  RightsPlaces many = folders({"data/s/t0/"});
  for (int i = 1; i < 40; ++i) {
    many.listed.push_back(
        *Location::parse("s3://lake/data/s/a-table-of-many-" + std::to_string(i)));
  }
  EXPECT_FALSE(folder_policy(*rights(KeyAccess::kRead, many), {}));
  for (const char* name : {"data/s/a*b/", "data/s/${x}/"}) {
    EXPECT_FALSE(folder_policy(*rights(KeyAccess::kRead, folders({name})), {}));
    EXPECT_FALSE(folder_policy(*rights(KeyAccess::kRead, folders({"data/s/t/", name})), {}));
  }
  EXPECT_FALSE(
      folder_policy(*rights(KeyAccess::kRead, folders({"data/s/"}, {"data/s/${x}/"})), {}));
}

TEST(FolderPolicy, closes_everything_from_its_end_on) {
  const base::WallTime end(std::chrono::milliseconds(1'794'231'281'900));
  auto made = folder_policy(*rights(KeyAccess::kRead, folders({"data/s/t/"})), end);
  ASSERT_TRUE(made);
  EXPECT_THAT(*made, HasSubstr(R"({"Effect":"Deny","Action":"s3:*","Resource":"arn:aws:s3:::*",)"
                               R"("Condition":{"DateGreaterThanEquals":)"
                               R"({"aws:CurrentTime":"2026-11-09T13:34:41Z"}}})"));
  EXPECT_TRUE(base::json::parse(*made)) << *made;
}

TEST(SessionPolicy, a_writer_adds_objects_but_replaces_neither_metadata_nor_recorded_files) {
  EXPECT_EQ(
      text(rights(KeyAccess::kReadWrite), shown({"data/s/t/data/a.parquet"})),
      R"({"Version":"2012-10-17","Statement":[)"
      R"({"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::lake/data/s/t/*"},)"
      R"({"Effect":"Allow","Action":["s3:PutObject","s3:AbortMultipartUpload",)"
      R"("s3:ListMultipartUploadParts"],"Resource":"arn:aws:s3:::lake/data/s/t/*"},)"
      R"({"Effect":"Deny","Action":"s3:PutObject","Resource":["arn:aws:s3:::lake/data/s/t/metadata/lake/*",)"
      R"("arn:aws:s3:::lake/data/s/t/data/a.parquet"]},)"
      R"({"Effect":"Allow","Action":"s3:ListBucket","Resource":"arn:aws:s3:::lake",)"
      R"("Condition":{"StringLike":{"s3:prefix":"data/s/t/*"}}}]})");
}

TEST(SessionPolicy, nobody_may_delete) {
  for (KeyAccess access : {KeyAccess::kRead, KeyAccess::kReadWrite}) {
    EXPECT_THAT(text(rights(access), many(1)), Not(HasSubstr("s3:Delete")));
  }
}

TEST(SessionPolicy, files_that_are_not_the_tables_own_are_left_out) {
  EXPECT_THAT(text(rights(KeyAccess::kRead),
                   shown({"data/s/t/data/a.parquet", "data/s/u/data/b.parquet", "x.parquet"})),
              testing::AllOf(HasSubstr("t/data/a.parquet"), Not(HasSubstr("b.parquet")),
                             Not(HasSubstr("x.parquet"))));
}

TEST(SessionPolicy, files_in_listed_folders_are_named_one_by_one) {
  RightsPlaces of = places("data/s/t");
  of.listed.push_back(*Location::parse("s3://lake/raw/"));
  EXPECT_THAT(text(rights(KeyAccess::kRead, of), shown({"raw/a.parquet"})),
              testing::AllOf(HasSubstr("lake/raw/a.parquet"), Not(HasSubstr("raw/*"))));
  EXPECT_THAT(text(rights(KeyAccess::kRead, of), std::nullopt), HasSubstr("lake/raw/*"));
}

TEST(SessionPolicy, too_many_files_open_the_folder_and_say_so) {
  const auto fits = session_policy(*rights(KeyAccess::kRead), many(25));
  ASSERT_TRUE(fits);
  EXPECT_FALSE(fits->degraded);
  EXPECT_LE(fits->text.size(), kWantedPolicyBytes);
  for (const ShownObjects& files : {many(60), ShownObjects{}}) {
    const auto wide = session_policy(*rights(KeyAccess::kRead), files);
    ASSERT_TRUE(wide);
    EXPECT_TRUE(wide->degraded);
    EXPECT_THAT(wide->text, HasSubstr(R"("Resource":"arn:aws:s3:::lake/data/s/t/*")"));
    EXPECT_THAT(wide->text, Not(HasSubstr("PutObject")));
  }
}

TEST(SessionPolicy, what_is_closed_is_said_at_any_length) {
  RightsPlaces of = places("data/s/t");
  of.others.push_back(*Location::parse("s3://lake/data/s/t/sub/"));
  for (KeyAccess access : {KeyAccess::kRead, KeyAccess::kReadWrite}) {
    for (const ShownObjects& files : {many(2), many(60), ShownObjects{}}) {
      const std::string policy = text(rights(access, of), files);
      EXPECT_THAT(
          policy,
          HasSubstr(
              R"({"Effect":"Deny","Action":"s3:*","Resource":"arn:aws:s3:::lake/data/s/t/sub/*"})"));
      EXPECT_THAT(policy, Not(HasSubstr("ListBucket"))) << "it would show names of the other";
      if (access == KeyAccess::kReadWrite) {
        EXPECT_THAT(policy, HasSubstr("metadata/lake/*"));
      }
    }
  }
}

TEST(SessionPolicy, too_much_that_is_closed_gets_no_keys) {
  RightsPlaces of = places("data/s/t");
  for (int i = 0; i < 40; ++i) {
    of.others.push_back(
        *Location::parse("s3://lake/data/s/t/" + std::string(40, 'n') + std::to_string(i)));
  }
  for (KeyAccess access : {KeyAccess::kRead, KeyAccess::kReadWrite}) {
    auto made = session_policy(*rights(access, of), many(1));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind(), base::ErrorKind::kForbidden);
  }
}

TEST(SessionPolicy, quotes_and_foreign_letters_stay_letters) {
  const std::string policy = text(
      rights(KeyAccess::kRead, places("data/s/a\"],\"Action\":\"s3:Put\\\xc3\xa4\xf0\x9f\x8c\x8a")),
      shown({}));
  EXPECT_TRUE(std::ranges::all_of(policy, [](char c) { return c >= 0x20 && c < 0x7f; })) << policy;
  auto read = base::json::parse(policy);
  ASSERT_TRUE(read);
  const auto& statements = read->as_object().at("Statement").as_array();
  ASSERT_EQ(statements.size(), 2U);
  EXPECT_EQ(statements[0].as_object().at("Action").as_string(), "s3:GetObject");
  EXPECT_EQ(
      statements[0].as_object().at("Resource").as_string(),
      "arn:aws:s3:::lake/data/s/a\"],\"Action\":\"s3:Put\\\xc3\xa4\xf0\x9f\x8c\x8a/metadata/*");
}

TEST(SessionPolicy, patterns_in_names_never_open_more) {
  for (const char* name : {"data/*/t", "data/s/*", "data/s/*t", "data/${aws:username}/t"}) {
    auto made = session_policy(*rights(KeyAccess::kRead, places(name)), many(0));
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().kind(), base::ErrorKind::kForbidden);
  }
  // A file that cannot be named alone: the folder, which holds it.
  for (const char* file : {"data/s/t/data/*.parquet", "data/s/t/data/${aws:userid}"}) {
    auto made = session_policy(*rights(KeyAccess::kRead), shown({file}));
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->degraded);
    EXPECT_THAT(made->text, Not(HasSubstr(file)));
  }
  RightsPlaces variable = places("data/s/t");
  variable.others.push_back(*Location::parse("s3://lake/data/s/t/${x}/"));
  EXPECT_FALSE(session_policy(*rights(KeyAccess::kRead, variable), many(0)));
  // A pattern in what is closed closes more.
  RightsPlaces pattern = places("data/s/t");
  pattern.others.push_back(*Location::parse("s3://lake/data/s/t/*/"));
  EXPECT_TRUE(session_policy(*rights(KeyAccess::kRead, pattern), many(0)));
}

}  // namespace
}  // namespace lake::delegation

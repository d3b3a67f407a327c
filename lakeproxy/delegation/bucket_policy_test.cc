#include "lakeproxy/delegation/bucket_policy.h"

#include <gmock/gmock.h>

#include "base/json/json.h"

namespace lake::delegation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

PolicyFolder folder(std::string name_space, std::string path) {
  return {.name_space = {{std::move(name_space)}},
          .folder = *storage::Location::parse("s3://lake-bucket/" + path)};
}

PolicyKey key(std::string id, std::string scope) {
  return {std::move(id), *auth::Scopes::parse(scope, auth::OtherWords::kRefused)};
}

const std::vector<PolicyFolder> kFolders = {folder("a", "wh/a/t"), folder("a", "wh/a/u/"),
                                            folder("b", "wh/b/t")};

// "AK GetObject wh/a/t/*" for each right, sorted.
std::vector<std::string> rights(const std::string& policy, std::string_view effect) {
  std::vector<std::string> found;
  auto parsed = base::json::parse(policy);
  for (const auto& one : parsed->as_object().at("Statement").as_array()) {
    if (one.at("Effect").as_string() != effect) continue;
    for (const auto& who : one.at("Principal").at("AWS").as_array()) {
      for (const auto& what : one.at("Action").as_array()) {
        for (const auto& where : one.at("Resource").as_array()) {
          found.push_back(
              std::string(who.as_string()) + " " + std::string(what.as_string()) + " " +
              std::string(where.as_string()).substr(std::string("arn:aws:s3:::").size()));
        }
      }
    }
  }
  std::ranges::sort(found);
  return found;
}

TEST(BucketPolicy, lets_a_reader_get_objects_of_its_namespaces_and_nothing_else) {
  auto policy = bucket_policy("lake-bucket", {key("AK", "ns:a:r")}, kFolders);
  ASSERT_TRUE(policy);
  EXPECT_THAT(rights(policy->text, "Allow"), ElementsAre("AK s3:GetObject lake-bucket/wh/a/t/*",
                                                         "AK s3:GetObject lake-bucket/wh/a/u/*"));
  EXPECT_THAT(rights(policy->text, "Deny"), ElementsAre());
}

TEST(BucketPolicy, lets_a_writer_add_objects_beside_the_servers_own) {
  auto policy = bucket_policy("lake-bucket", {key("AK", "ns:b:rw")}, kFolders);
  ASSERT_TRUE(policy);
  EXPECT_THAT(rights(policy->text, "Allow"),
              ElementsAre("AK s3:AbortMultipartUpload lake-bucket/wh/b/t/*",
                          "AK s3:GetObject lake-bucket/wh/b/t/*",
                          "AK s3:ListMultipartUploadParts lake-bucket/wh/b/t/*",
                          "AK s3:PutObject lake-bucket/wh/b/t/*"));
  EXPECT_THAT(rights(policy->text, "Deny"),
              ElementsAre("AK s3:PutObject lake-bucket/wh/b/t/metadata/lake/*"));
  EXPECT_THAT(policy->text, Not(HasSubstr("Delete")));
  EXPECT_THAT(policy->text, Not(HasSubstr("ListBucket")));
}

TEST(BucketPolicy, gives_nothing_for_a_scope_that_only_writes_or_names_no_table) {
  for (const char* scope : {"ns:b:w", "ns:c:rw", "ns:a.b:r"}) {
    auto policy = bucket_policy("lake-bucket", {key("AK", scope)}, kFolders);
    ASSERT_TRUE(policy);
    EXPECT_EQ(policy->text, "") << scope;
  }
}

TEST(BucketPolicy, leaves_out_what_a_policy_would_read_as_a_pattern) {
  for (const char* path : {"wh/a/t*", "wh/a/t?", "wh/a/${aws:username}"}) {
    // '?' is in no location at all.
    auto place = storage::Location::parse("s3://lake-bucket/" + std::string(path));
    if (!place) continue;
    auto policy =
        bucket_policy("lake-bucket", {key("AK", "*")}, {{.name_space = {{"a"}}, .folder = *place}});
    ASSERT_TRUE(policy);
    EXPECT_EQ(policy->text, "") << path;
    EXPECT_THAT(policy->left_out, ElementsAre(place->text()));
  }
}

TEST(BucketPolicy, leaves_out_folders_that_lie_in_those_of_another_namespace) {
  auto policy =
      bucket_policy("lake-bucket", {key("AK", "ns:a:rw")},
                    {folder("a", "wh/t"), folder("b", "wh/t/inner"), folder("a", "wh/u")});
  ASSERT_TRUE(policy);
  EXPECT_THAT(rights(policy->text, "Allow"),
              ElementsAre("AK s3:AbortMultipartUpload lake-bucket/wh/u/*",
                          "AK s3:GetObject lake-bucket/wh/u/*",
                          "AK s3:ListMultipartUploadParts lake-bucket/wh/u/*",
                          "AK s3:PutObject lake-bucket/wh/u/*"));
  EXPECT_EQ(policy->left_out.size(), 2U);
}

TEST(BucketPolicy, names_the_bucket_of_the_lake_alone) {
  auto elsewhere = *storage::Location::parse("s3://other-bucket/wh/a/t");
  auto policy = bucket_policy("lake-bucket", {key("AK", "*")},
                              {{.name_space = {{"a"}}, .folder = elsewhere}});
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->text, "");
}

TEST(BucketPolicy, is_an_error_where_a_store_would_not_take_it) {
  std::vector<PolicyFolder> many;
  for (int i = 0; i < 1000; ++i) many.push_back(folder("a", "wh/a/table-" + std::to_string(i)));
  auto policy = bucket_policy("lake-bucket", {key("AK", "ns:a:r")}, many);
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().kind(), base::ErrorKind::kTooLarge);
}

}  // namespace
}  // namespace lake::delegation

#include "lakeproxy/storage/sts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// As AWS documents it for AssumeRole.
constexpr std::string_view kAnswer =
    R"(<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>)"
    R"(<SourceIdentity>Alice</SourceIdentity><AssumedRoleUser><AssumedRoleId>A:s</AssumedRoleId>)"
    R"(</AssumedRoleUser><Credentials><AccessKeyId>ASIAEXAMPLE</AccessKeyId>)"
    R"(<SecretAccessKey>wJalr/EXAMPLE</SecretAccessKey><SessionToken>AQoDYXdz==</SessionToken>)"
    R"(<Expiration>2026-11-09T13:34:41Z</Expiration></Credentials></AssumeRoleResult>)"
    R"(<ResponseMetadata><RequestId>c6104cbe</RequestId></ResponseMetadata></AssumeRoleResponse>)";

std::string without(std::string_view element) {
  std::string text(kAnswer);
  const std::string open = "<" + std::string(element) + ">";
  const std::string close = "</" + std::string(element) + ">";
  const auto at = text.find(open);
  text.erase(at, text.find(close) + close.size() - at);
  return text;
}

TEST(AssumeRole, is_asked_for_in_a_form_without_spaces) {
  StsOptions options;
  options.role_arn = "arn:aws:iam::1:role/a b";
  EXPECT_EQ(assume_role_form(options, {"who-1", R"({"a":"x y+z"})"}, std::chrono::seconds(900)),
            "Action=AssumeRole&DurationSeconds=900&Policy=%7B%22a%22%3A%22x%20y%2Bz%22%7D&"
            "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa%20b&RoleSessionName=who-1&"
            "Version=2011-06-15");
}

TEST(AssumeRole, gives_keys_with_their_end) {
  auto keys = read_assume_role(kAnswer);
  ASSERT_TRUE(keys) << keys.error().detail();
  EXPECT_EQ(keys->credentials.access_key, "ASIAEXAMPLE");
  EXPECT_EQ(keys->credentials.secret_key.reveal(), "wJalr/EXAMPLE");
  EXPECT_EQ(keys->credentials.session_token.reveal(), "AQoDYXdz==");
  EXPECT_EQ(keys->expires, base::WallTime(std::chrono::seconds(1'794'231'281)));
}

TEST(AssumeRole, an_answer_without_each_part_gives_none) {
  for (const char* part :
       {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration", "Credentials"}) {
    EXPECT_FALSE(read_assume_role(without(part))) << part;
  }
  EXPECT_FALSE(read_assume_role(""));
  EXPECT_FALSE(read_assume_role("<ErrorResponse/>"));
}

TEST(SessionName, is_of_letters_that_sts_takes_and_tells_callers_apart) {
  const std::string plain = session_name("lakeproxy", "etl@example.com");
  EXPECT_THAT(plain, HasSubstr("etl@example.com-"));
  for (const std::string& name : {plain, session_name("i", std::string(300, 'x')),
                                  session_name("i", "a b/\xc3\xa4\n\"<&"), session_name("", "")}) {
    EXPECT_GE(name.size(), 2U);
    EXPECT_LE(name.size(), 64U);
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_=,.@-"),
              std::string::npos)
        << name;
  }
  EXPECT_NE(session_name("a", "x"), session_name("b", "x"));
  EXPECT_NE(session_name("a", "x y"), session_name("a", "x-y"));
}

}  // namespace
}  // namespace lake::storage

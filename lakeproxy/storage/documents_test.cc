#include "lakeproxy/storage/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/storage/xml.h"

namespace lake::storage {
namespace {

using base::ErrorKind;
using base::http::Body;
using base::http::Response;
using ::testing::HasSubstr;
using ::testing::Not;

ObjectKey key(std::string_view text) { return *ObjectKey::parse(text); }

std::string entry(std::string_view name, std::string_view size = "1",
                  std::string_view time = "2026-01-31T23:59:59.123Z") {
  return fmt::format(
      "<Contents><Key>{}</Key><LastModified>{}</LastModified><Size>{}</Size></Contents>", name,
      time, size);
}

std::string listing(std::string_view inside) {
  return fmt::format("<ListBucketResult xmlns=\"x\">{}</ListBucketResult>", inside);
}

const std::string kLast = "<IsTruncated>false</IsTruncated>";

TEST(ListPageTest, reads_objects_in_order) {
  auto page = read_list_page(
      listing(entry("a%2Bb+c/%C3%A4%3D%25", "0") + entry("z", "9223372036854775807") + kLast));
  ASSERT_TRUE(page) << page.error().message();
  ASSERT_EQ(page->objects.size(), 2);
  EXPECT_EQ(page->objects[0].key.text(), "a+b c/\xc3\xa4=%");
  EXPECT_EQ(page->objects[0].size, 0);
  EXPECT_EQ(page->objects[1].size, 9223372036854775807u);
  EXPECT_EQ(page->continuation, "");
}

TEST(ListPageTest, reads_the_continuation) {
  auto page = read_list_page(listing(
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t/+=</NextContinuationToken>"));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->continuation, "t/+=");
}

TEST(ListPageTest, counts_names_that_cannot_be_ours) {
  auto page = read_list_page(listing(entry("a//b") + entry("../x") + entry("a%0A") +
                                     entry("folder/") + entry("a") + kLast));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->objects.size(), 1);
  EXPECT_EQ(page->unnameable, 4);
}

TEST(ListPageTest, refuses_what_is_no_listing) {
  for (const std::string& text :
       {std::string(), std::string("<Other/>"), listing(""),
        listing("<IsTruncated>maybe</IsTruncated>"), listing("<IsTruncated>true</IsTruncated>"),
        listing("<IsTruncated>true</IsTruncated><NextContinuationToken>a b"
                "</NextContinuationToken>"),
        listing(entry("a", "-1") + kLast), listing(entry("a", "") + kLast),
        listing(entry("a", "1x") + kLast), listing(entry("a", "9223372036854775808") + kLast),
        listing(entry("a", "1", "yesterday") + kLast), listing(entry("a%2", "1") + kLast)}) {
    auto page = read_list_page(text);
    ASSERT_FALSE(page) << text;
    EXPECT_EQ(page.error().kind(), ErrorKind::kCorrupt) << text;
  }
}

TEST(ListPageTest, takes_a_thousand_objects_and_no_more) {
  std::string inside;
  for (int i = 0; i < 1000; ++i) inside += entry("a");
  EXPECT_TRUE(read_list_page(listing(inside + kLast)));
  auto over = read_list_page(listing(inside + entry("a") + kLast));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().kind(), ErrorKind::kTooLarge);
}

TEST(DeleteTest, escapes_keys) {
  std::string body = write_delete({key("a</Key>&\"'"), key("b")});
  auto root = parse_xml(body);
  ASSERT_TRUE(root) << body;
  ASSERT_EQ(root->children.size(), 3);
  EXPECT_EQ(root->children[1].text_of("Key"), "a</Key>&\"'");
  EXPECT_EQ(root->children[2].text_of("Key"), "b");
}

TEST(DeleteTest, reports_each_key_that_failed) {
  auto failures = read_delete_answer(
      "<DeleteResult><Error><Key>a&amp;b</Key><Code>AccessDenied</Code></Error>"
      "<Error><Key>c</Key><Code>InternalError</Code></Error>"
      "<Error><Key>d</Key><Code>NoSuchKey</Code></Error></DeleteResult>",
      {key("a&b"), key("c"), key("d"), key("e")});
  ASSERT_TRUE(failures);
  ASSERT_EQ(failures->size(), 2);
  EXPECT_EQ((*failures)[0].key, key("a&b"));
  EXPECT_EQ((*failures)[0].error.kind(), ErrorKind::kForbidden);
  EXPECT_EQ((*failures)[1].error.kind(), ErrorKind::kUnavailable);
}

TEST(DeleteTest, refuses_an_answer_about_other_keys) {
  for (const char* text : {"<DeleteResult><Error><Key>b</Key><Code>X</Code></Error></DeleteResult>",
                           "<DeleteResult><Error><Code>X</Code></Error></DeleteResult>",
                           "<Error><Code>X</Code></Error>", "ok"}) {
    auto failures = read_delete_answer(text, {key("a")});
    ASSERT_FALSE(failures) << text;
    EXPECT_EQ(failures.error().kind(), ErrorKind::kCorrupt) << text;
  }
}

TEST(UploadTest, reads_an_id_that_a_url_can_carry) {
  auto answer = [](std::string_view id) {
    return fmt::format(
        "<InitiateMultipartUploadResult><UploadId>{}</UploadId></InitiateMultipartUploadResult>",
        id);
  };
  EXPECT_EQ(*read_upload_id(answer("abc.-_~+/=")), "abc.-_~+/=");
  for (const std::string& id : {std::string(), std::string("a b"), std::string("a\r\nb"),
                                std::string("\xc3\xa4"), std::string(8193, 'a')}) {
    EXPECT_FALSE(read_upload_id(answer(id))) << id;
  }
}

TEST(UploadTest, names_parts_in_order) {
  auto root = parse_xml(write_complete({"\"a\"", "\"b\""}));
  ASSERT_TRUE(root);
  ASSERT_EQ(root->children.size(), 2);
  EXPECT_EQ(root->children[0].text_of("PartNumber"), "1");
  EXPECT_EQ(root->children[1].text_of("PartNumber"), "2");
  EXPECT_EQ(root->children[1].text_of("ETag"), "\"b\"");
}

TEST(UploadTest, sees_an_error_that_comes_with_status_200) {
  EXPECT_TRUE(read_complete_answer("<CompleteMultipartUploadResult/>"));
  auto failed = read_complete_answer("<Error><Code>InternalError</Code></Error>");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind(), ErrorKind::kUnavailable);
  EXPECT_FALSE(read_complete_answer(""));
  EXPECT_FALSE(read_complete_answer("<Other/>"));
}

TEST(ToErrorTest, kind_follows_code_and_status) {
  struct Case {
    unsigned status;
    const char* code;
    ErrorKind kind;
  };
  for (const Case& c : std::vector<Case>{{404, "NoSuchKey", ErrorKind::kNotFound},
                                         {404, "NoSuchBucket", ErrorKind::kNotFound},
                                         {404, "", ErrorKind::kNotFound},
                                         {403, "AccessDenied", ErrorKind::kForbidden},
                                         {403, "SignatureDoesNotMatch", ErrorKind::kForbidden},
                                         {403, "", ErrorKind::kForbidden},
                                         {401, "", ErrorKind::kForbidden},
                                         {400, "ExpiredToken", ErrorKind::kForbidden},
                                         {400, "InvalidArgument", ErrorKind::kInvalid},
                                         {400, "RequestTimeout", ErrorKind::kUnavailable},
                                         {400, "EntityTooLarge", ErrorKind::kTooLarge},
                                         {409, "BucketAlreadyExists", ErrorKind::kAlreadyExists},
                                         {409, "OperationAborted", ErrorKind::kConflict},
                                         {412, "PreconditionFailed", ErrorKind::kConflict},
                                         {413, "", ErrorKind::kTooLarge},
                                         {416, "InvalidRange", ErrorKind::kInvalid},
                                         {408, "", ErrorKind::kUnavailable},
                                         {429, "", ErrorKind::kUnavailable},
                                         {500, "InternalError", ErrorKind::kUnavailable},
                                         {502, "", ErrorKind::kUnavailable},
                                         {503, "SlowDown", ErrorKind::kUnavailable},
                                         {599, "", ErrorKind::kUnavailable},
                                         {501, "NotImplemented", ErrorKind::kUnsupported},
                                         {301, "PermanentRedirect", ErrorKind::kUnsupported},
                                         {307, "", ErrorKind::kUnsupported}}) {
    Response answer{.status = c.status};
    if (*c.code != '\0') answer.body = Body(fmt::format("<Error><Code>{}</Code></Error>", c.code));
    EXPECT_EQ(to_error(answer).kind(), c.kind) << c.status << c.code;
  }
}

TEST(ToErrorTest, shows_the_code_and_neither_message_nor_line_breaks) {
  Response answer{.status = 403,
                  .body = Body(std::string("<Error><Code>Bad\nCode</Code><Message>secret</Message>"
                                           "<StringToSign>signed</StringToSign></Error>"))};
  answer.headers.add("x-amz-request-id", "id-1");
  base::Error error = to_error(answer);
  EXPECT_EQ(error.detail(), "S3: 403 Bad?Code (request id-1)");
  EXPECT_THAT(error.message(), Not(HasSubstr("secret")));
}

TEST(ParseTimeTest, reads_utc_times) {
  using namespace std::chrono;
  auto day = base::WallTime(sys_days(year{2026} / 1 / 31));
  EXPECT_EQ(parse_time("2026-01-31T00:00:00Z"), day);
  EXPECT_EQ(parse_time("2026-01-31T23:59:59.123Z"), day + seconds(86'399) + milliseconds(123));
  EXPECT_EQ(parse_time("2026-01-31T00:00:00.123456789Z"), day + microseconds(123'456));
  EXPECT_TRUE(parse_time("2024-02-29T00:00:00Z"));
  for (const char* text :
       {"", "2026-01-31", "2026-01-31T00:00:00", "2026-01-31T00:00:00+00:00",
        "2026-01-31 00:00:00Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T00:60:00Z",
        "2026-01-31T00:00:61Z", "2026-01-31T00:00:00.Z", "2026-01-31T00:00:00.1234567890Z",
        "2026-01-31T00:00:00.1x3Z", "-026-01-31T00:00:00Z", "2026-01-31T00:00:00ZZ"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace lake::storage

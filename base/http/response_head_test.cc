#include "base/http/response_head.h"

#include <gtest/gtest.h>

namespace base::http {
namespace {

std::string head_of(const Response& response, Persistence persistence = Persistence::kKeepAlive) {
  std::string out;
  append_head(out, response, {persistence, 0xab, "today"});
  return out;
}

TEST(ResponseHeadTest, writes_status_servers_fields_and_handlers_fields) {
  Response response;
  response.headers.add("ETag", "\"1\"");
  response.body = Body(std::string("body"));
  EXPECT_EQ(head_of(response),
            "HTTP/1.1 200 OK\r\nDate: today\r\nX-Request-Id: 00000000000000ab\r\n"
            "ETag: \"1\"\r\nContent-Length: 4\r\n\r\n");
}

TEST(ResponseHeadTest, says_whether_the_connection_persists) {
  EXPECT_TRUE(head_of({}, Persistence::kClose).contains("\r\nConnection: close\r\n"));
  EXPECT_TRUE(
      head_of({}, Persistence::kKeepAliveHttp10).contains("\r\nConnection: keep-alive\r\n"));
  EXPECT_FALSE(head_of({}, Persistence::kKeepAlive).contains("Connection"));
}

TEST(ResponseHeadTest, gives_no_length_where_no_body_may_be) {
  for (unsigned status : {204u, 304u}) {
    EXPECT_FALSE(may_have_body(status));
    EXPECT_FALSE(head_of({.status = status}).contains("Content-Length")) << status;
  }
  EXPECT_TRUE(head_of({.status = 404}).contains("Content-Length: 0\r\n"));
}

TEST(ResponseHeadTest, has_an_empty_phrase_for_an_unlisted_status) {
  EXPECT_TRUE(head_of({.status = 299}).starts_with("HTTP/1.1 299 \r\n"));
}

TEST(ResponseHeadTest, drops_fields_that_are_the_servers_own) {
  for (std::string_view name :
       {"content-length", "Transfer-Encoding", "CONNECTION", "Date", "X-Request-ID"}) {
    Response response;
    response.headers.add(std::string(name), "evil");
    EXPECT_FALSE(head_of(response).contains("evil")) << name;
  }
}

TEST(ResponseHeadTest, lets_no_value_or_name_start_a_new_field) {
  Response response;
  response.headers.add("A", "b\r\nSet-Cookie: c");
  response.headers.add("D\r\nE", "f");
  response.headers.add("", "g");
  std::string head = head_of(response);
  EXPECT_TRUE(head.contains("A: b  Set-Cookie: c\r\n"));
  EXPECT_FALSE(head.contains("\nE"));
  EXPECT_FALSE(head.contains(": g"));
}

TEST(DateCacheTest, gives_an_imf_fixdate) {
  DateCache cache;
  auto now = std::chrono::steady_clock::now();
  std::string first(cache.at(now));
  ASSERT_EQ(first.size(), 29u);
  EXPECT_TRUE(first.ends_with(" GMT"));
  EXPECT_EQ(first[3], ',');
  EXPECT_EQ(cache.at(now), first);
}

}  // namespace
}  // namespace base::http

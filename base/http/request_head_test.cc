#include "base/http/request_head.h"

#include <gtest/gtest.h>

namespace base::http {
namespace {

struct Malformed {
  std::string_view name;
  std::string_view head;  ///< The empty line is added.
  unsigned status;
};

TEST(RequestHeadTest, refuses_what_breaks_the_grammar_or_can_be_read_in_two_ways) {
  const Malformed kCases[] = {
      {"no version", "GET /\r\nHost: h", 400},
      {"no target", "GET HTTP/1.1\r\nHost: h", 400},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: h", 400},
      {"space in target", "GET /a b HTTP/1.1\r\nHost: h", 400},
      {"control in target", "GET /\x01 HTTP/1.1\r\nHost: h", 400},
      {"fragment in target", "GET /#a HTTP/1.1\r\nHost: h", 400},
      {"fragment in an absolute target", "GET http://h/a#b HTTP/1.1\r\nHost: h", 400},
      {"relative target", "GET a HTTP/1.1\r\nHost: h", 400},
      {"asterisk for GET", "GET * HTTP/1.1\r\nHost: h", 400},
      {"authority form", "CONNECT h:80 HTTP/1.1\r\nHost: h", 400},
      {"absolute form without authority", "GET http:///a HTTP/1.1\r\nHost: h", 400},
      {"absolute form with user", "GET http://u@h/a HTTP/1.1\r\nHost: h", 400},
      {"method with a separator", "G(T / HTTP/1.1\r\nHost: h", 400},
      {"HTTP/2", "GET / HTTP/2.0\r\nHost: h", 505},
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h", 505},
      {"HTTP/0.9", "GET / HTTP/0.9\r\nHost: h", 505},
      {"bare LF after the request line", "GET / HTTP/1.1\nHost: h", 400},
      {"bare LF in a value", "GET / HTTP/1.1\r\nHost: h\r\nA: b\nC: d", 400},
      {"NUL in a value", std::string_view("GET / HTTP/1.1\r\nHost: h\r\nA: \0b", 30), 400},
      {"space before the colon", "GET / HTTP/1.1\r\nHost : h", 400},
      {"empty field name", "GET / HTTP/1.1\r\nHost: h\r\n: b", 400},
      {"space before the first field", "GET / HTTP/1.1\r\n Host: h", 400},
      {"field without a colon", "GET / HTTP/1.1\r\nHost: h\r\nabc", 400},
      {"no Host", "GET / HTTP/1.1", 400},
      {"two Hosts", "GET / HTTP/1.1\r\nHost: h\r\nHost: h", 400},
      {"two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: h\r\nHost: i", 400},
      {"Host with a path", "GET / HTTP/1.1\r\nHost: h/a", 400},
      {"Host list", "GET / HTTP/1.1\r\nHost: h i", 400},
      {"length and coding",
       "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked", 400},
      {"coding and length",
       "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 1", 400},
      {"length and unknown coding",
       "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: x", 400},
      {"coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked", 400},
      {"unknown coding", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip", 501},
      {"chunked not last", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, gzip", 501},
      {"coding list", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked", 501},
      {"two codings",
       "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
       400},
      {"two lengths", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2", 400},
      {"two equal lengths", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1",
       400},
      {"length list", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 1", 400},
      {"negative length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1", 400},
      {"negative zero", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -0", 400},
      {"signed length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +1", 400},
      {"hexadecimal length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1", 400},
      {"empty length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ", 400},
      {"length past 64 bits", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551616",
       400},
      {"other expectation", "POST / HTTP/1.1\r\nHost: h\r\nExpect: magic", 417},
  };
  for (const Malformed& c : kCases) {
    SCOPED_TRACE(c.name);
    auto head = parse_head(std::string(c.head) + "\r\n\r\n");
    ASSERT_FALSE(head.has_value());
    EXPECT_EQ(head.error().status, c.status);
  }
}

RequestHead parsed(std::string_view head) {
  auto result = parse_head(std::string(head) + "\r\n\r\n");
  EXPECT_TRUE(result.has_value()) << head;
  return result ? std::move(*result) : RequestHead{};
}

TEST(RequestHeadTest, takes_targets_in_origin_absolute_and_asterisk_form) {
  EXPECT_EQ(parsed("GET /a?b=c HTTP/1.1\r\nHost: h").request.target, "/a?b=c");
  EXPECT_EQ(parsed("GET http://h:80/a?b HTTP/1.1\r\nHost: h").request.target, "/a?b");
  EXPECT_EQ(parsed("GET HTTPS://h HTTP/1.1\r\nHost: h").request.target, "/");
  EXPECT_EQ(parsed("GET http://h?b HTTP/1.1\r\nHost: h").request.target, "/?b");
  EXPECT_EQ(parsed("OPTIONS * HTTP/1.1\r\nHost: h").request.target, "*");
}

TEST(RequestHeadTest, keeps_fields_in_order_without_surrounding_space) {
  auto head = parsed("PATCH / HTTP/1.1\r\nHost: h\r\nA:  b c \t\r\na: \r\nX-Long: \"q,;\"");
  EXPECT_EQ(head.request.method, Method::kOther);
  const auto& fields = head.request.headers.fields();
  ASSERT_EQ(fields.size(), 4u);
  EXPECT_EQ(fields[1].value, "b c");
  EXPECT_EQ(fields[2].value, "");
  EXPECT_EQ(fields[3].name, "X-Long");
}

TEST(RequestHeadTest, frames_the_body) {
  auto sized = parsed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0012");
  EXPECT_EQ(sized.framing, Framing::kLength);
  EXPECT_EQ(sized.length, 12u);
  auto chunked = parsed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked");
  EXPECT_EQ(chunked.framing, Framing::kChunked);
  EXPECT_EQ(parsed("POST / HTTP/1.1\r\nHost: h").length, 0u);
}

TEST(RequestHeadTest, knows_whether_the_connection_persists) {
  EXPECT_TRUE(parsed("GET / HTTP/1.1\r\nHost: h").keep_alive);
  EXPECT_FALSE(parsed("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close").keep_alive);
  EXPECT_FALSE(parsed("GET / HTTP/1.0").keep_alive);
  EXPECT_TRUE(parsed("GET / HTTP/1.0\r\nConnection: keep-alive").keep_alive);
}

TEST(RequestHeadTest, expects_continue_only_since_1_1) {
  EXPECT_TRUE(parsed("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue").expects_continue);
  EXPECT_FALSE(parsed("PUT / HTTP/1.0\r\nExpect: 100-continue").expects_continue);
}

TEST(RequestHeadTest, finds_the_end_wherever_the_bytes_were_split) {
  std::string_view bytes = "GET / HTTP/1.1\r\nHost: h\r\n\r\nrest";
  for (std::size_t split = 0; split < 27; ++split) {
    EXPECT_FALSE(find_head_end(bytes.substr(0, split), 0).has_value() && split < 27);
    EXPECT_EQ(find_head_end(bytes, split), 27u) << split;
  }
}

TEST(RequestHeadTest, refuses_early_what_can_never_become_a_head) {
  EXPECT_FALSE(check_partial_head("").has_value());
  EXPECT_FALSE(check_partial_head("\r").has_value());
  EXPECT_FALSE(check_partial_head("GET /").has_value());
  EXPECT_FALSE(check_partial_head("GET / HTTP/1.1\r\nHos").has_value());
  EXPECT_TRUE(check_partial_head("\x16\x03\x01").has_value());
  EXPECT_TRUE(check_partial_head("\n").has_value());
  EXPECT_TRUE(check_partial_head(std::string_view("\0", 1)).has_value());
  EXPECT_TRUE(check_partial_head("GET / HTTP/1.1\n").has_value());
}

}  // namespace
}  // namespace base::http

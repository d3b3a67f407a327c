#include "base/websocket/handshake.h"

#include <gtest/gtest.h>

namespace base::ws {
namespace {

// Source: RFC 6455, section 1.3.
TEST(HandshakeTest, answers_the_key_of_the_standard) {
  EXPECT_EQ(accept_for("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(HandshakeTest, makes_keys_that_it_takes_and_no_two_alike) {
  SystemRandom random;
  std::string one = make_key(random);
  std::string two = make_key(random);
  EXPECT_TRUE(is_key(one)) << one;
  EXPECT_TRUE(is_key(two)) << two;
  EXPECT_NE(one, two);
}

TEST(HandshakeTest, refuses_what_is_not_sixteen_bytes_of_base64) {
  for (const char* text :
       {"", "dGhlIHNhbXBsZSBub25jZQ",
        "dGhlIHNhbXBsZSBub25jZQ=", "short==", "dGhlIHNhbXBsZSBub25jZQ==x",
        "dGhlIHNhbXBsZSBub25jZR==", "dGhlIHNhbXBs!SBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ==\n",
        "dGhlIHNhbXBsZSBub25jZQ==dGhlIHNhbXBsZSBub25jZQ=="}) {
    EXPECT_FALSE(is_key(text)) << text;
  }
}

TEST(HandshakeTest, reads_lists_over_several_fields) {
  http::Headers headers;
  headers.add("Connection", "keep-alive, Upgrade");
  headers.add("connection", " close ,, x");
  EXPECT_EQ(list_of(headers, "Connection"),
            (std::vector<std::string_view>{"keep-alive", "Upgrade", "close", "x"}));
  EXPECT_TRUE(has_token(headers, "Connection", "upgrade"));
  EXPECT_FALSE(has_token(headers, "Connection", "grade"));
  EXPECT_FALSE(has_token(headers, "Upgrade", "websocket"));
  EXPECT_EQ(only(headers, "Connection"), std::nullopt);
}

TEST(HandshakeTest, parses_an_answer) {
  auto answer = parse_answer(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nA:  b \r\nEmpty:\r\n\r\n");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 101u);
  EXPECT_EQ(answer->headers.get("a"), "b");
  EXPECT_EQ(answer->headers.get("Empty"), "");
  EXPECT_TRUE(parse_answer("HTTP/1.1 200\r\n\r\n").has_value());
}

TEST(HandshakeTest, refuses_malformed_answers) {
  for (const char* head :
       {"", "\r\n\r\n", "HTTP/1.1 101 x\r\n", "HTTP/1.1 101 x\r\nA: b\r\n", "HTTP/2 101 x\r\n\r\n",
        "HTTP/1.1 1x1 x\r\n\r\n", "HTTP/1.1 1011 x\r\n\r\n", "HTTP/1.1  101 x\r\n\r\n",
        "SSH-2.0-x\r\n\r\n", "HTTP/1.1 101 x\r\nno colon\r\n\r\n", "HTTP/1.1 101 x\r\n: b\r\n\r\n",
        "HTTP/1.1 101 x\r\nA : b\r\n\r\n", "HTTP/1.1 101 x\r\nA: b\r\n folded\r\n\r\n",
        "HTTP/1.1 101 x\r\nA: b\nC: d\r\n\r\n", "HTTP/1.1 101 x\r\n\r\nrest"}) {
    EXPECT_FALSE(parse_answer(head).has_value()) << head;
  }
}

}  // namespace
}  // namespace base::ws

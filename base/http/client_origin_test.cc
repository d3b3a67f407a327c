#include <gtest/gtest.h>

#include "base/http/client.h"

namespace base::http {
namespace {

TEST(OriginTest, parses_scheme_host_and_port) {
  struct Case {
    const char* url;
    const char* host;
    int port;
    bool encrypted;
    const char* authority;
  };
  for (const Case& c :
       std::vector<Case>{{"http://127.0.0.1:9000", "127.0.0.1", 9000, false, "127.0.0.1:9000"},
                         {"http://s3.example:80", "s3.example", 80, false, "s3.example"},
                         {"http://s3.example:443", "s3.example", 443, false, "s3.example:443"},
                         {"https://s3.example", "s3.example", 443, true, "s3.example"},
                         {"https://s3.example:443", "s3.example", 443, true, "s3.example"},
                         {"https://s3.example:80", "s3.example", 80, true, "s3.example:80"},
                         {"http://a:1", "a", 1, false, "a:1"},
                         {"http://a:65535", "a", 65535, false, "a:65535"},
                         {"http://[::1]:9000", "::1", 9000, false, "[::1]:9000"},
                         {"https://[fe80::1]", "fe80::1", 443, true, "[fe80::1]"}}) {
    auto origin = Origin::parse(c.url);
    ASSERT_TRUE(origin) << c.url;
    EXPECT_EQ(origin->host, c.host) << c.url;
    EXPECT_EQ(origin->port, c.port) << c.url;
    EXPECT_EQ(origin->encrypted, c.encrypted) << c.url;
    EXPECT_EQ(origin->authority(), c.authority) << c.url;
  }
}

TEST(OriginTest, refuses_anything_else) {
  for (const char* url : {"",
                          "a:1",
                          "ftp://a:1",
                          "HTTP://a:1",
                          "http://",
                          "http://:1",
                          "http://a:",
                          "http://a:0",
                          "http://a:65536",
                          "http://a:+1",
                          "http://a:-1",
                          "http://a:1x",
                          "http://a:000001",
                          "http://a:1/",
                          "http://a:1/path",
                          "http://a:1?q",
                          "http://user@a:1",
                          "http://u:p@a:1",
                          "http://a b:1",
                          "http://a\r\nX:1",
                          "http://.a:1",
                          "http://[::1",
                          "http://[]:1",
                          "http://[a]:1",
                          "http://[::1]x:1",
                          "http://[::1]1",
                          "http://::1:1"}) {
    auto origin = Origin::parse(url);
    ASSERT_FALSE(origin) << url;
    EXPECT_EQ(origin.error().kind(), ErrorKind::kInvalid) << url;
  }
  EXPECT_FALSE(Origin::parse("http://" + std::string(254, 'a') + ":1"));
}

}  // namespace
}  // namespace base::http

#include "toolserver/settings/endpoint.h"

#include <gtest/gtest.h>

namespace tool::settings {
namespace {

using namespace std::string_view_literals;

struct HostCase {
  const char* name;
  std::string_view host;
};

TEST(LoopbackTest, this_machine) {
  for (const auto& c : std::initializer_list<HostCase>{
           {"the usual", "127.0.0.1"},
           {"first of the block", "127.0.0.0"},
           {"last of the block", "127.255.255.255"},
           {"IPv6", "::1"},
           {"IPv6 in full", "0:0:0:0:0:0:0:1"},
           {"IPv6 with zeros", "0000:0000:0000:0000:0000:0000:0000:0001"},
           {"name", "localhost"},
           {"name in capitals", "LOCALHOST"},
       }) {
    EXPECT_TRUE(is_loopback(c.host)) << c.name;
  }
}

TEST(LoopbackTest, what_only_looks_like_this_machine) {
  for (const auto& c : std::initializer_list<HostCase>{
           {"empty", ""},
           {"below the block", "126.255.255.255"},
           {"above the block", "128.0.0.0"},
           {"any address", "0.0.0.0"},
           {"zero", "0"},
           {"any IPv6 address", "::"},
           {"name that begins so", "127.0.0.1.evil.com"},
           {"name that ends so", "evil.com.127.0.0.1"},
           {"localhost as a label", "localhost.evil.com"},
           {"localhost in front", "localhostevil.com"},
           {"localhost behind", "evil-localhost"},
           {"domain of localhost", "a.localhost"},
           {"dot at the end of the name", "localhost."},
           {"dot at the end of the address", "127.0.0.1."},
           {"hexadecimal and short", "0x7f.1"},
           {"hexadecimal whole", "0x7f000001"},
           {"octal", "0177.0.0.1"},
           {"zeros in front", "127.000.000.001"},
           {"one number", "2130706433"},
           {"short", "127.1"},
           {"shorter", "127"},
           {"five parts", "127.0.0.1.1"},
           {"part above 255", "127.0.0.256"},
           {"IPv4 in IPv6", "::ffff:127.0.0.1"},
           {"IPv4 in IPv6, hexadecimal", "::ffff:7f00:1"},
           {"IPv4-compatible", "::127.0.0.1"},
           {"IPv6 beside it", "::2"},
           {"IPv6 with a zone", "::1%lo"},
           {"brackets", "[::1]"},
           {"blank in front", " 127.0.0.1"},
           {"blank behind", "127.0.0.1 "},
           {"NUL", "127.0.0.1\0.evil.com"sv},
           {"NUL in the name", "localhost\0"sv},
           {"full-width digits", "１27.0.0.1"},
           {"user part", "127.0.0.1@evil.com"},
           {"with a port", "127.0.0.1:80"},
       }) {
    EXPECT_FALSE(is_loopback(c.host)) << c.name;
  }
}

TEST(EndpointTest, takes_a_url_apart) {
  auto full = parse_endpoint("wss://node.example:7443/scp/v3");
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(full->scheme, "wss");
  EXPECT_EQ(full->host, "node.example");
  EXPECT_EQ(full->port, 7443);
  EXPECT_EQ(full->path, "/scp/v3");
  auto least = parse_endpoint("WS://[::1]");
  ASSERT_TRUE(least.has_value());
  EXPECT_EQ(least->scheme, "ws");
  EXPECT_EQ(least->host, "::1");
  EXPECT_FALSE(least->port.has_value());
  EXPECT_EQ(least->path, "");
  EXPECT_EQ(parse_endpoint("ws://h:1")->port, 1);
  EXPECT_EQ(parse_endpoint("ws://h:65535")->port, 65535);
}

TEST(EndpointTest, refuses_what_could_be_read_in_two_ways) {
  for (const auto& c : std::initializer_list<HostCase>{
           {"no scheme", "host:80"},
           {"empty scheme", "://host"},
           {"no host", "ws://"},
           {"no host before the port", "ws://:80"},
           {"user part", "ws://127.0.0.1@evil.com"},
           {"user and password", "ws://user:127.0.0.1@evil.com"},
           {"user part that is empty", "ws://@evil.com"},
           {"escape in the host", "ws://127.0.0.1%2eevil.com"},
           {"backslash", "ws://127.0.0.1\\@evil.com"},
           {"query right behind the host", "ws://evil.com?127.0.0.1"},
           {"fragment right behind the host", "ws://evil.com#127.0.0.1"},
           {"query", "ws://h/p?q"},
           {"port 0", "ws://h:0"},
           {"port 65536", "ws://h:65536"},
           {"empty port", "ws://h:"},
           {"sign in the port", "ws://h:+80"},
           {"two ports", "ws://h:80:80"},
           {"open bracket", "ws://[::1"},
           {"no IPv6 in the brackets", "ws://[127.0.0.1]"},
           {"zone", "ws://[fe80::1%25eth0]"},
           {"text behind the bracket", "ws://[::1].evil.com"},
           {"blank", "ws://h h"},
           {"line end", "ws://h\r\nX: y"},
           {"NUL", "ws://h\0"sv},
           {"other letters", "ws://höst"},
       }) {
    EXPECT_FALSE(parse_endpoint(c.host).has_value()) << c.name;
  }
  EXPECT_FALSE(parse_endpoint("ws://" + std::string(3000, 'h')).has_value());
}

}  // namespace
}  // namespace tool::settings

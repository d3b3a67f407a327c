#include "toolserver/discovery/found.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tool::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Way, is_over_tls_but_to_this_machine_where_that_is_allowed) {
  EXPECT_EQ(way_to("b.example", 7443, "192.0.2.1", Plain::kLoopback),
            (Way{"wss://b.example:7443", "192.0.2.1"}));
  EXPECT_EQ(way_to("b.example", 7443, "127.0.0.1", Plain::kLoopback),
            (Way{"ws://127.0.0.1:7443", ""}));
  EXPECT_EQ(way_to("b.example", 7443, "127.0.0.1", Plain::kRefused),
            (Way{"wss://b.example:7443", "127.0.0.1"}));
  EXPECT_EQ(way_to("::1", 7443, "", Plain::kLoopback), (Way{"ws://[::1]:7443", ""}));
  EXPECT_EQ(way_to("2001:db8::1", 7443, "", Plain::kRefused),
            (Way{"wss://[2001:db8::1]:7443", ""}));
}

TEST(Way, is_none_to_what_is_no_host) {
  for (const char* host :
       {"", "-b", ".b", "a..b", "a b", "a/b", "user@b", "b:80", "b\n", "fe80::1%eth0"}) {
    EXPECT_FALSE(way_to(host, 7443, "", Plain::kLoopback)) << host;
  }
  EXPECT_FALSE(way_to("b.example", 0, "", Plain::kRefused));
  EXPECT_FALSE(way_to("b.example", 1, "b.example", Plain::kRefused));
}

TEST(Way, is_usable_over_tls_or_to_this_machine) {
  for (const char* url :
       {"wss://b.example:7443", "wss://192.0.2.1/scp/v3", "wss://[2001:db8::1]:1"}) {
    EXPECT_TRUE(usable({url, ""}, Plain::kRefused)) << url;
  }
  EXPECT_TRUE(usable({"ws://127.0.0.1:7443", ""}, Plain::kLoopback));
  EXPECT_FALSE(usable({"ws://127.0.0.1:7443", ""}, Plain::kRefused));
  // A name could come to stand for another machine.
  for (const char* url :
       {"ws://localhost:7443", "ws://192.0.2.1:7443", "ws://169.254.169.254/latest",
        "http://b.example", "WSS://b.example", "file:///etc/passwd", "wss://a@b.example",
        "wss://b.example?x", "wss://", ""}) {
    EXPECT_FALSE(usable({url, ""}, Plain::kLoopback)) << url;
  }
  EXPECT_FALSE(usable({"wss://b.example/" + std::string(kUrlBytes, 'x'), ""}, Plain::kRefused));
  EXPECT_FALSE(usable({"wss://b.example", "elsewhere"}, Plain::kRefused));
}

TEST(Found, takes_names_that_can_be_namespaces_and_leaves_out_the_others) {
  Found found;
  for (const char* name : {"node-b", "b", "n_1"})
    found.add(name, {"wss://b.example", ""}, Plain::kRefused);
  EXPECT_THAT(found.nodes, SizeIs(3));
  EXPECT_THAT(found.left_out, IsEmpty());
  for (const char* name : {"", "Node-b", "1b", "a.b", "a b", "../b", "b\n"}) {
    found.add(name, {"wss://b.example", ""}, Plain::kRefused);
  }
  EXPECT_THAT(found.nodes, SizeIs(3));
  EXPECT_THAT(found.left_out, SizeIs(7));
}

TEST(Found, keeps_the_order_and_tells_a_way_once) {
  Found found;
  for (const char* url : {"wss://b.example:2", "wss://b.example:1", "wss://b.example:2"}) {
    found.add("b", {url, ""}, Plain::kRefused);
  }
  EXPECT_THAT(found.nodes.at("b"),
              ElementsAre(Way{"wss://b.example:2", ""}, Way{"wss://b.example:1", ""}));
}

TEST(Found, has_bounds) {
  Found found;
  for (std::size_t i = 0; i < kNodes + 50; ++i) {
    found.add("n" + std::to_string(i), {"wss://b.example", ""}, Plain::kRefused);
  }
  EXPECT_THAT(found.nodes, SizeIs(kNodes));
  EXPECT_THAT(found.left_out, SizeIs(kLeftOut));
  EXPECT_EQ(found.left_out_more, 50 - kLeftOut);
  for (int i = 1; i < 20; ++i) {
    found.add("n0", {"wss://b.example:" + std::to_string(i), ""}, Plain::kRefused);
  }
  EXPECT_THAT(found.nodes.at("n0"), SizeIs(kWays));
  Found words;
  words.leave_out(std::string(10'000, 'x') + "\x1b[2J", "why");
  EXPECT_LT(words.left_out[0].what.size(), 200U);
  EXPECT_EQ(words.left_out[0].what.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tool::discovery

#include "base/core/loopback.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(LoopbackTest, takes_the_addresses_of_this_machine) {
  for (std::string_view text :
       {"127.0.0.0", "127.0.0.1", "127.255.255.255", "::1", "0:0:0:0:0:0:0:1"}) {
    EXPECT_TRUE(is_loopback_address(text)) << text;
  }
}

TEST(LoopbackTest, takes_nothing_that_only_looks_like_one) {
  using namespace std::string_view_literals;
  for (std::string_view text :
       {""sv, "localhost"sv, "126.255.255.255"sv, "128.0.0.0"sv, "127.1"sv, "0x7f.0.0.1"sv,
        "2130706433"sv, "127.0.0.1.example.org"sv, "127.0.0.1."sv, "127.0.0.1\0x"sv, "[::1]"sv,
        "::2"sv, "::"sv, "::ffff:127.0.0.1"sv}) {
    EXPECT_FALSE(is_loopback_address(text)) << text;
  }
}

}  // namespace
}  // namespace base

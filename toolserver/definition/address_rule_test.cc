#include "toolserver/definition/address_rule.h"

#include <gtest/gtest.h>

namespace tool::definition {
namespace {

bool allows(const AddressRule& rule, std::string_view address) {
  return rule.allows(boost::asio::ip::make_address(std::string(address)));
}

TEST(AddressRuleTest, public_addresses_and_no_others) {
  AddressRule rule({});
  for (std::string_view address :
       {"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255",
        "2606:4700::1", "2a00:1450::1"}) {
    EXPECT_TRUE(allows(rule, address)) << address;
  }
  for (std::string_view address : {"0.0.0.0",
                                   "0.1.2.3",
                                   "10.0.0.1",
                                   "10.255.255.255",
                                   "100.64.0.1",
                                   "127.0.0.1",
                                   "127.9.9.9",
                                   "169.254.169.254",
                                   "172.16.0.1",
                                   "172.31.255.255",
                                   "192.0.0.192",
                                   "192.168.1.1",
                                   "198.18.0.1",
                                   "203.0.113.7",
                                   "224.0.0.1",
                                   "240.0.0.1",
                                   "255.255.255.255",
                                   "::",
                                   "::1",
                                   "::ffff:127.0.0.1",
                                   "::ffff:8.8.8.8",
                                   "::127.0.0.1",
                                   "64:ff9b::a9fe:a9fe",
                                   "fe80::1",
                                   "fc00::1",
                                   "fd00:ec2::254",
                                   "ff02::1",
                                   "2001::1",
                                   "2001:db8::1",
                                   "2002:7f00:1::1",
                                   "fec0::1",
                                   "5f00::1"}) {
    EXPECT_FALSE(allows(rule, address)) << address;
  }
}

TEST(AddressRuleTest, networks_are_allowed_beside_them) {
  AddressRule rule({"127.0.0.1/32", "10.1.0.0/16", "fd00::/8", "192.168.7.9"});
  for (std::string_view address :
       {"127.0.0.1", "10.1.0.0", "10.1.255.255", "fd12::1", "192.168.7.9", "8.8.8.8"}) {
    EXPECT_TRUE(allows(rule, address)) << address;
  }
  for (std::string_view address : {"127.0.0.2", "10.0.255.255", "10.2.0.0", "fc00::1", "::1",
                                   "192.168.7.8", "::ffff:127.0.0.1"}) {
    EXPECT_FALSE(allows(rule, address)) << address;
  }
}

TEST(AddressRuleTest, what_is_no_network_is_refused) {
  for (std::string_view text : {"0.0.0.0/0", "::/0", "10.0.0.0/8", "10.0.0.1", "::1", "fd00::/8"}) {
    EXPECT_TRUE(is_network(text)) << text;
  }
  for (std::string_view text :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.1.0.0/8", "::1/127",
        "fe80::1%eth0", "localhost", "10.0.0.0/8/8", "10.0.0/8"}) {
    EXPECT_FALSE(is_network(text)) << text;
  }
}

TEST(AddressRuleTest, names_of_this_machine) {
  for (std::string_view host : {"localhost", "127.0.0.1", "127.1.2.3", "::1"}) {
    EXPECT_TRUE(is_loopback_name(host)) << host;
  }
  for (std::string_view host : {"localhost.example", "10.0.0.1", "example", "0.0.0.0", ""}) {
    EXPECT_FALSE(is_loopback_name(host)) << host;
  }
}

}  // namespace
}  // namespace tool::definition

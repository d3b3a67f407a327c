#include "toolserver/mcp_login/address.h"

#include <gtest/gtest.h>

namespace tool::login {
namespace {

using boost::asio::ip::make_address;

Address at(std::string_view url) { return *Address::parse(url); }

TEST(Address, parts_of_a_url_are_told_apart) {
  Address one = at("HTTPS://As.Example:8443/T/x?y=/z");
  EXPECT_EQ(one.origin_text(), "https://as.example:8443");
  EXPECT_EQ(one.target, "/T/x?y=/z");
  EXPECT_EQ(one.path(), "/T/x");
  EXPECT_EQ(at("https://as.example?q").target, "/?q");
  EXPECT_EQ(at("https://as.example").target, "/");
  EXPECT_TRUE(same_origin(at("https://a.example/x"), at("https://A.example:443/y")));
  EXPECT_FALSE(same_origin(at("https://a.example/"), at("https://a.example:444/")));
}

TEST(Address, other_texts_are_none) {
  for (std::string url :
       {std::string("ftp://a/"), std::string("https://u:p@a/"), std::string("https://a/#f"),
        std::string("https://a/\\b"), std::string("https://a/ b"), std::string("//a/"),
        std::string("https://a/\r\nX: y"), std::string("https:///x"), std::string(),
        "https://a/" + std::string(2048, 'x')}) {
    EXPECT_FALSE(Address::parse(url)) << url.substr(0, 40);
  }
}

TEST(AddressPolicy, plaintext_and_this_machine_are_for_servers_on_it) {
  AddressPolicy remote(at("https://mcp.example/mcp"), {});
  EXPECT_TRUE(remote.check(at("https://as.example/")));
  for (const char* url : {"http://as.example/", "http://mcp.example/", "https://localhost/",
                          "https://127.0.0.1/", "http://[::1]:9/", "http://127.9.9.9/"}) {
    auto checked = remote.check(at(url));
    ASSERT_FALSE(checked) << url;
    EXPECT_EQ(checked.error().kind(), base::ErrorKind::kForbidden) << url;
  }
  AddressPolicy local(at("http://127.0.0.1:8080/mcp"), {});
  EXPECT_TRUE(local.check(at("http://localhost:9/")));
  EXPECT_TRUE(local.check(at("https://as.example/")));
  EXPECT_FALSE(local.check(at("http://as.example/")));
}

TEST(AddressPolicy, what_a_name_stands_for_is_judged_too) {
  AddressPolicy remote(at("https://mcp.example/mcp"), {"10.1.0.0/16"});
  auto filter = remote.filter(at("https://as.example/"));
  EXPECT_TRUE(filter(make_address("93.184.216.34")));
  EXPECT_TRUE(filter(make_address("10.1.2.3")));
  for (const char* ip : {"10.2.0.1", "127.0.0.1", "169.254.169.254", "::1", "fd00::1",
                         "::ffff:10.1.2.3", "192.168.0.1"}) {
    EXPECT_FALSE(filter(make_address(ip))) << ip;
  }
  EXPECT_FALSE(remote.filter(at("https://mcp.example/.well-known/x"))) << "its own origin: any";
  AddressPolicy local(at("http://localhost:8080/mcp"), {});
  auto loopback = local.filter(at("http://localhost:9/"));
  EXPECT_TRUE(loopback(make_address("127.0.0.1")));
  EXPECT_FALSE(loopback(make_address("93.184.216.34")));
}

}  // namespace
}  // namespace tool::login

#include "toolserver/mcp/resource_uri.h"

#include <gtest/gtest.h>

#include <string>

namespace tool::mcp {
namespace {

TEST(ResourceUriTest, a_uri_reaches_the_server_that_it_names) {
  for (auto [server, uri] : {std::pair{"git", "file:///srv/a%20b"},
                             {"my_server-2", "demo://resource/dynamic/text/1?x=1#y"},
                             {"a", "b+file:///x"},
                             {"a", "urn:isbn:1"}}) {
    auto parts = inner_uri(outer_uri(server, uri));
    ASSERT_TRUE(parts.has_value()) << uri;
    EXPECT_EQ(parts->server, server);
    EXPECT_EQ(parts->uri, uri);
  }
  EXPECT_EQ(outer_uri("my_server", "file:///x"), "my.server+file:///x");
  // Two servers never have one URI, whatever each calls its own.
  EXPECT_NE(outer_uri("a", "b+file:///x"), outer_uri("a-b", "file:///x"));
  EXPECT_EQ(inner_uri("a+b+file:///x")->server, "a");
}

TEST(ResourceUriTest, what_is_no_uri_of_a_server_names_none) {
  for (const char* text : {"",
                           "+",
                           "+file:///x",
                           "file:///x",
                           "git+",
                           "git+file",
                           "git+:x",
                           "git+1a:x",
                           "Git+file:///x",
                           "gi_t+file:///x",
                           "1git+file:///x",
                           "git +file:///x",
                           "git+file:///a b",
                           "git+file:///%",
                           "git+file:///%4",
                           "git+file:///%zz",
                           "git+file:///\xc3\xa4",
                           "git+file:///a\n",
                           "git+file:///<x>",
                           "git+file:///\"",
                           "git+file:///a\\b",
                           "git+file:///{x}",
                           "git+x:"}) {
    EXPECT_FALSE(inner_uri(text).has_value()) << text;
  }
  EXPECT_TRUE(inner_uri("git+x:" + std::string(kUriBytes - 2, 'a')).has_value());
  EXPECT_FALSE(inner_uri("git+x:" + std::string(kUriBytes - 1, 'a')).has_value());
  EXPECT_TRUE(inner_uri(std::string(64, 'g') + "+x:a").has_value());
  EXPECT_FALSE(inner_uri(std::string(65, 'g') + "+x:a").has_value());
}

TEST(UriTemplateTest, a_simple_expression_ends_at_a_slash) {
  auto one = UriTemplate::parse("demo://resource/{kind}/{id}/data");
  ASSERT_TRUE(one.has_value());
  EXPECT_TRUE(one->matches("demo://resource/text/7/data"));
  EXPECT_TRUE(one->matches("demo://resource/a%20b/c.d/data"));
  for (const char* uri :
       {"demo://resource/text/7", "demo://resource//7/data", "demo://resource/a/b/c/data",
        "demo://resource/text/7/data/", "demo://resource/text/7/dat", "xdemo://resource/a/b/data",
        "demo://resource/../b/data", "demo://resource/%2E%2e/b/data",
        "demo://resource/a%2Fb/c/data", "demo://resource/a%5cb/c/data",
        "demo://resource/a%00/c/data", "demo://resource/./b/data", "demo://resource/a?b/c/data"}) {
    EXPECT_FALSE(one->matches(uri)) << uri;
  }
}

TEST(UriTemplateTest, a_reserved_expression_goes_on_and_never_up) {
  auto one = UriTemplate::parse("file:///srv/{+path}");
  ASSERT_TRUE(one.has_value());
  EXPECT_TRUE(one->matches("file:///srv/a/b.txt"));
  EXPECT_TRUE(one->matches("file:///srv/a?b=..c"));
  for (const char* uri :
       {"file:///srv/", "file:///etc/passwd", "file:///srv/../etc/passwd", "file:///srv/a/%2e%2E/b",
        "file:///srv/a/..", "file:///srv/..%2fb", "file:///srv/a?b=.."}) {
    EXPECT_FALSE(one->matches(uri)) << uri;
  }
}

TEST(UriTemplateTest, other_templates_are_refused) {
  for (const char* text :
       {"", "x", "{scheme}://a", "a{b}:c", "a:{", "a:{}", "a:{+}", "a:{b*}", "a:{b:3}", "a:{?b}",
        "a:{b,c}", "a:{/b}", "a:b}", "a: {b}", "a:{{b}}", "a:%{b}"}) {
    EXPECT_FALSE(UriTemplate::parse(text).has_value()) << text;
  }
  std::string many = "a:";
  for (int i = 0; i < 16; ++i) many += "{b}";
  EXPECT_TRUE(UriTemplate::parse(many).has_value());
  EXPECT_FALSE(UriTemplate::parse(many + "{b}").has_value());
  EXPECT_FALSE(UriTemplate::parse("a:{b}" + std::string(kTemplateBytes, 'c')).has_value());
}

TEST(UriTemplateTest, a_long_uri_costs_no_more_than_its_length) {
  std::string many = "a:";
  for (int i = 0; i < 16; ++i) many += "{+b}c";
  auto one = UriTemplate::parse(many);
  ASSERT_TRUE(one.has_value());
  EXPECT_FALSE(one->matches("a:" + std::string(kUriBytes - 3, 'c') + "d"));
}

}  // namespace
}  // namespace tool::mcp

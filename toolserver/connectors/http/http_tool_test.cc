#include "toolserver/connectors/http/http_tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toolserver/definition/read_definitions.h"

namespace tool::http {
namespace {

using base::json::Object;

Outcome<std::string> target(std::string_view path, Object args, std::string_view query = "{}") {
  std::string json = R"({"t":{"kind":"http","description":"d","url":"https://a.example)" +
                     std::string(path) + R"(","query":)" + std::string(query) +
                     R"(,"parameters":{"a":{"type":"string"},"n":{"type":"integer"},
                        "o":{"type":"string","optional":true}}}})";
  auto section = base::json::parse(json);
  EXPECT_TRUE(section.has_value()) << json;
  auto read = definition::read_definitions(section->get_object(), {"/", {}, nullptr});
  EXPECT_THAT(read.faults, ::testing::ElementsAre()) << json;
  if (!read.faults.empty()) return refuse(Code::kInternal, "");
  return target_of(std::get<definition::HttpWork>(read.tools.at(0).work), args);
}

TEST(HttpToolTest, a_value_stays_in_its_segment) {
  struct Case {
    std::string_view value;
    std::string_view target;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"x", "/v1/x/n7"},
           {"a b", "/v1/a%20b/n7"},
           {"../..", "/v1/..%2F../n7"},
           {"/", "/v1/%2F/n7"},
           {"?a=b&c#d", "/v1/%3Fa%3Db%26c%23d/n7"},
           {"%2e%2e", "/v1/%252e%252e/n7"},
           {"@evil.example", "/v1/%40evil.example/n7"},
           {"\\..\\", "/v1/%5C..%5C/n7"},
           {"\r\nHost: evil", "/v1/%0D%0AHost%3A%20evil/n7"},
           {"...", "/v1/.../n7"},
       }) {
    auto got = target("/v1/{a}/n{n}", {{"a", c.value}, {"n", 7}});
    ASSERT_TRUE(got.has_value()) << c.value;
    EXPECT_EQ(*got, c.target);
  }
  for (std::string_view value : {"", ".", ".."}) {
    for (std::string_view path : {"/v1/{a}/x", "/v1/{a}", "/{a}"}) {
      auto got = target(path, {{"a", value}, {"n", 7}});
      ASSERT_FALSE(got.has_value()) << path << value;
      EXPECT_EQ(got.error().code, Code::kShape);
    }
  }
  EXPECT_FALSE(target("/.{a}", {{"a", "."}, {"n", 7}}).has_value());
  EXPECT_EQ(*target("/v{a}", {{"a", ""}, {"n", 7}}), "/v");
}

TEST(HttpToolTest, a_parameter_of_the_query_is_one_and_may_be_left_out) {
  std::string_view query = R"({"q":"{a}","o":"{o}","fixed":"x&y"})";
  EXPECT_EQ(*target("/", {{"a", "b&c=d e"}, {"n", 1}}, query), "/?q=b%26c%3Dd%20e&fixed=x%26y");
  EXPECT_EQ(*target("/", {{"a", ""}, {"n", 1}, {"o", "p"}}, query), "/?q=&o=p&fixed=x%26y");
  EXPECT_FALSE(target("/", {{"a", std::string(17'000, 'x')}, {"n", 1}}, query).has_value());
}

}  // namespace
}  // namespace tool::http

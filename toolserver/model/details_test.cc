#include "toolserver/model/details.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toolserver/model/principal.h"

namespace tool {
namespace {

namespace json = base::json;
using ::testing::HasSubstr;
using ::testing::Not;

ToolId id(std::string_view text) { return *ToolId::parse(text); }
json::Value value(std::string_view text) { return *json::parse(text); }

std::string detail(std::string_view args, std::string_view tool = "files.read") {
  return fmt::format(R"({{"type":"scp_tool","tool":"{}","args":{}}})", tool, args);
}

Details parsed(std::string_view text) {
  auto read = Details::parse(value(text));
  EXPECT_TRUE(read.has_value()) << text;
  return read ? *read : Details();
}

std::string fault_of(std::string_view text) {
  auto read = Details::parse(value(text));
  if (read) return "";
  EXPECT_EQ(read.error().kind(), base::ErrorKind::kInvalid);
  return read.error().message();
}

TEST(DetailsTest, a_list_is_one_set_that_names_its_tools_and_no_other) {
  Details details = parsed(fmt::format(
      "[{},{}]",
      detail(R"({"path":{"within":"reports"},"length":{"min":0,"max":10,"optional":true}})"),
      R"({"type":"scp_tool","tool":"sql.query"})"));
  EXPECT_EQ(details.sets().size(), 1U);
  EXPECT_TRUE(details.names(id("files.read")));
  EXPECT_TRUE(details.names(id("sql.query")));
  EXPECT_FALSE(details.names(id("files.list")));
  EXPECT_TRUE(parsed("[]").empty());
  EXPECT_TRUE(Details().empty());
}

TEST(DetailsTest, each_rule_lets_through_and_refuses) {
  const json::Object schema = value(R"({"properties":{"a":{},"b":{}}})").get_object();
  struct Case {
    const char* rule;
    const char* good;
    const char* bad;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"({"within":"reports"})", R"("reports/a")", R"("reports2/a")"},
           {R"({"within":"/srv/a"})", R"("/srv/a/b")", R"("srv/a/b")"},
           {R"({"within":"."})", R"("a")", R"("/a")"},
           {R"({"pattern":"[a-c]+"})", R"("abc")", R"("abcd")"},
           {R"({"min":1})", "1", "0.5"},
           {R"({"max":-1})", "-1", "0"},
           {R"({"values":["x",7,true]})", "7", "8"},
           {R"({"values":["x",7,true]})", "true", "false"},
           {R"({"values":["x",7,true]})", R"("x")", R"("X")"},
           {R"({"tables":["sales"]})", R"("anything")", "7"},
           {R"({"values":["x"],"optional":true})", R"(["x","x"])", R"(["x","y"])"},
       }) {
    Details details = parsed(fmt::format("[{}]", detail(fmt::format(R"({{"a":{}}})", c.rule))));
    const ArgumentRules& rules = details.sets()[0]->front().rules;
    auto with = [&](const char* one) {
      return rules.check(value(fmt::format(R"({{"a":{}}})", one)).get_object(), schema);
    };
    EXPECT_TRUE(with(c.good)) << c.rule;
    EXPECT_FALSE(with(c.bad)) << c.rule;
    EXPECT_EQ(rules.check({}, schema).has_value(), std::string_view(c.rule).contains("optional"));
    // Under no name that the tool does not have.
    auto other = value(fmt::format(R"({{"a":{},"c":1}})", c.good)).get_object();
    EXPECT_FALSE(rules.check(other, schema)) << c.rule;
  }
}

TEST(DetailsTest, what_is_not_understood_is_refused_and_never_repeated) {
  struct Case {
    std::string text;
    const char* says;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"7", "authorization_details"},
           {"{}", "authorization_details"},
           {"[7]", "authorization_details[0]"},
           {"[{}]", "type"},
           {R"([{"type":"payment_secret","tool":"files.read"}])", "type: is not understood"},
           {R"([{"type":"scp_tool"}])", "tool"},
           {R"([{"type":"scp_tool","tool":"files.*"}])", "tool: must name one tool"},
           {R"([{"type":"scp_tool","tool":"files.read","locations":["https://secret"]}])",
            "not understood"},
           {R"([{"type":"scp_tool","tool":"files.read","args":null}])", "null"},
           {"[" + detail("7") + "]", "args: must be an object"},
           {"[" + detail(R"({"path":7})") + "]", "args.path"},
           {"[" + detail(R"({"path":{}})") + "]", "must have one of"},
           {"[" + detail(R"({"path":{"optional":true}})") + "]", "must have one of"},
           {"[" + detail(R"({"path":{"inside":"secret"}})") + "]", "not understood"},
           {"[" + detail(R"({"path":{"within":"secret","prefix":"a"}})") + "]", "not understood"},
           {"[" + detail(R"({"path":{"within":""}})") + "]", "empty"},
           {"[" + detail(R"({"path":{"within":"a/../secret"}})") + "]", "within"},
           {"[" + detail(R"({"path":{"within":"secret/"}})") + "]", "within"},
           {"[" + detail(R"({"path":{"within":"a//secret"}})") + "]", "within"},
           {"[" + detail(R"({"path":{"within":"./secret"}})") + "]", "within"},
           {"[" + detail(R"({"path":{"within":["secret"]}})") + "]", "within"},
           {"[" + detail(R"({"path":{"pattern":"(secret"}})") + "]", "pattern"},
           {"[" + detail(R"({"path":{"pattern":null}})") + "]", "null"},
           {"[" + detail(R"({"path":{"min":"1"}})") + "]", "min: must be a number"},
           {"[" + detail(R"({"path":{"min":2,"max":1}})") + "]", "min is over max"},
           {"[" + detail(R"({"path":{"values":[]}})") + "]", "values"},
           {"[" + detail(R"({"path":{"values":[["secret"]]}})") + "]", "values"},
           {"[" + detail(R"({"path":{"tables":[]}})") + "]", "tables"},
           {"[" + detail("{\"path\":{\"tables\":[\"s\\u00e9cret\"]}}") + "]", "tables"},
           {"[" + detail(R"({"path":{"values":["a"],"optional":"yes"}})") + "]", "optional"},
           {"[" + detail(R"({"":{"values":["a"]}})") + "]", "must name arguments"},
       }) {
    EXPECT_THAT(fault_of(c.text), HasSubstr(c.says)) << c.text;
    EXPECT_THAT(fault_of(c.text), Not(HasSubstr("secret"))) << c.text;
  }
}

TEST(DetailsTest, counts_are_bounded) {
  auto list = [](std::size_t many) {
    std::string text = "[" + detail("{}");
    for (std::size_t i = 1; i < many; ++i) text += "," + detail("{}");
    return text + "]";
  };
  EXPECT_EQ(fault_of(list(Details::kMost)), "");
  EXPECT_NE(fault_of(list(Details::kMost + 1)), "");
  auto values = [](std::size_t many) {
    std::string text = "0";
    for (std::size_t i = 1; i < many; ++i) text += ",0";
    return "[" + detail(fmt::format(R"({{"a":{{"values":[{}]}}}})", text)) + "]";
  };
  EXPECT_EQ(fault_of(values(64)), "");
  EXPECT_NE(fault_of(values(65)), "");
  auto folder = [](std::size_t bytes) {
    return "[" + detail(fmt::format(R"({{"a":{{"within":"{}"}}}})", std::string(bytes, 'a'))) + "]";
  };
  EXPECT_EQ(fault_of(folder(512)), "");
  EXPECT_NE(fault_of(folder(513)), "");
}

TEST(DetailsTest, sets_travel_under_another_name_and_lose_nothing) {
  Details own =
      parsed("[" + detail(R"({"path":{"within":"a"}})") + "," +
             detail(R"({"path":{"within":"b"}})") + "," + detail("{}", "sql.query") + "]");
  Details both = own.with(parsed("[" + detail(R"({"path":{"within":"a/c"}})") + "]"));
  EXPECT_EQ(both.sets().size(), 2U);
  json::Array sets = both.sets_of(id("files.read"));
  EXPECT_EQ(json::write(json::Value(sets)),
            R"([[{"path":{"within":"a"}},{"path":{"within":"b"}}],[{"path":{"within":"a/c"}}]])");
  auto far = Details::parse_sets(id("node-b.files_read"), json::Value(sets));
  ASSERT_TRUE(far.has_value());
  EXPECT_EQ(far->sets_of(id("node-b.files_read")), sets);
  EXPECT_FALSE(far->names(id("files.read")));
  EXPECT_TRUE(both.sets_of(id("files.list")).empty());
  // Alternatives that are none would allow nothing and read like no bound.
  for (const char* bad : {"[[]]", "[7]", "[[7]]", R"([[{"path":{"inside":"a"}}]])", "{}"}) {
    EXPECT_FALSE(Details::parse_sets(id("files.read"), value(bad))) << bad;
  }
}

TEST(DetailsTest, only_what_is_not_narrower_admits) {
  Details a = parsed("[" + detail(R"({"path":{"within":"a"}})") + "]");
  Details b = parsed("[" + detail(R"({"path":{"within":"b"}})") + "]");
  EXPECT_TRUE(Details().admits(a));
  EXPECT_TRUE(a.admits(a));
  EXPECT_TRUE(a.admits(a.with(b)));
  EXPECT_FALSE(a.admits(Details()));
  EXPECT_FALSE(a.admits(b));
  EXPECT_FALSE(a.with(b).admits(a));
  EXPECT_EQ(a.with(a).sets().size(), 1U);
}

}  // namespace
}  // namespace tool

#include "toolserver/mcp_bridge/foreign_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toolserver/mcp_bridge/server_link.h"

namespace tool::bridge {
namespace {

using ::testing::HasSubstr;

settings::Bridge bridge() {
  settings::Bridge out;
  out.name = "w";
  return out;
}

ForeignTools read(std::string_view list) {
  auto value = base::json::parse(list);
  std::vector<base::json::Value> listed(value->get_array().begin(), value->get_array().end());
  return read_tools(bridge(), listed);
}

std::string described(std::string_view name, std::string_view more = "") {
  return R"({"name":")" + std::string(name) + R"(","inputSchema":{"type":"object"})" +
         std::string(more) + "}";
}

TEST(ForeignToolsTest, a_tool_gets_the_name_of_its_bridge) {
  auto tools = read("[" + described("Get.Weather-2", R"(,"title":"T","description":"D")") + "]");
  ASSERT_EQ(tools.usable.size(), 1U);
  const Capability& one = tools.usable[0].capability;
  EXPECT_EQ(one.id.text(), "w.get_weather-2");
  EXPECT_EQ(one.origin_tool, "Get.Weather-2");
  EXPECT_EQ(one.origin, OriginKind::kBridge);
  EXPECT_EQ(one.consent, ConsentRule::kAlways);
  EXPECT_EQ(one.description, "D");
  EXPECT_EQ(tools.seen.at("w.get_weather-2").pin, one.pin());
  EXPECT_EQ(tools.seen.at("w.get_weather-2").note, "");
}

TEST(ForeignToolsTest, the_pin_covers_all_that_the_server_says) {
  std::string plain = read("[" + described("a") + "]").seen.at("w.a").pin;
  for (const char* more :
       {R"(,"title":"t")", R"(,"description":"d")", R"(,"annotations":{"readOnlyHint":true})",
        R"(,"annotations":{"title":"t"})", R"(,"outputSchema":{"type":"object"})",
        R"(,"_meta":{"a":1})", R"(,"icons":[])", R"(,"execution":{"taskSupport":"optional"})"}) {
    EXPECT_NE(read("[" + described("a", more) + "]").seen.at("w.a").pin, plain) << more;
  }
  EXPECT_EQ(read("[" + described("a") + "]").seen.at("w.a").pin, plain);
  EXPECT_EQ(read(R"([{"inputSchema":{"type":"object"},"name":"a"}])").seen.at("w.a").pin, plain);
}

TEST(ForeignToolsTest, names_that_look_alike_are_all_left_out) {
  auto tools = read("[" + described("read_log") + "," + described("read_1og") + "," +
                    described("Same") + "," + described("same") + "," + described("other") + "]");
  ASSERT_EQ(tools.usable.size(), 1U);
  EXPECT_EQ(tools.usable[0].capability.id.text(), "w.other");
  EXPECT_EQ(tools.seen.size(), 5U);
  EXPECT_THAT(tools.seen.at("w.read_log").note, HasSubstr("looks like that of w.read_1og"));
  EXPECT_EQ(tools.seen.at("w.same").note, "another tool has its name");
}

TEST(ForeignToolsTest, what_cannot_be_offered_says_why) {
  for (auto [tool, why] : std::initializer_list<std::pair<std::string, const char*>>{
           {"7", ""},
           {R"({"name":"a"})", "inputSchema"},
           {described("a b"), "name"},
           {described("1a"), "its name cannot be one of this service"},
           {described(std::string(70, 'a')), "its name cannot be one of this service"},
           {R"({"name":"a","inputSchema":{"type":"string"}})",
            "inputSchema: must be of type object"},
           {R"({"name":"a","inputSchema":{"type":"object","nope":{}}})", "unknown keyword nope"},
           {described("a", R"(,"outputSchema":{"nope":{}})"), "outputSchema"},
           {described("a", R"(,"title":")" + std::string(140'000, 'x') + '"'), "over 128 KiB"}}) {
    auto tools = read("[" + tool + "]");
    EXPECT_TRUE(tools.usable.empty()) << tool;
    ASSERT_EQ(tools.seen.size(), 1U) << tool;
    EXPECT_NE(tools.seen.begin()->second.note, "") << tool;
    EXPECT_THAT(tools.seen.begin()->second.note, HasSubstr(why)) << tool;
  }
}

TEST(MeterTest, a_burst_is_let_through_and_a_flood_is_not) {
  Meter meter;
  Meter::Time now{};
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(meter.take(10, true, now)) << i;
  EXPECT_FALSE(meter.take(10, true, now));
  Meter other;
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(other.take(10, true, now));
  EXPECT_TRUE(other.take(10, true, now + std::chrono::seconds(1)));
}

TEST(MeterTest, answers_count_by_their_bytes_alone) {
  Meter meter;
  Meter::Time now{};
  for (int i = 0; i < 5'000; ++i) ASSERT_TRUE(meter.take(1'000, false, now)) << i;
  EXPECT_FALSE(meter.take(64 << 20, false, now));
}

TEST(ServerRequestTest, a_ping_is_answered_and_all_else_refused) {
  EXPECT_EQ(answer_to({std::int64_t{1}, "ping", {}}, {}),
            R"({"jsonrpc":"2.0","id":1,"result":{}})");
  for (const char* method : {"sampling/createMessage", "elicitation/create", "roots/list", "x"}) {
    auto said = base::json::parse(answer_to({std::int64_t{1}, method, {}}, {}));
    EXPECT_EQ(said->at("error").at("code").as_int64(), -32601) << method;
  }
}

}  // namespace
}  // namespace tool::bridge

#include "toolserver/federation/peer_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/json/json.h"

namespace tool::federation {
namespace {

namespace json = base::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

json::Object record(std::string_view id) {
  return {{"id", id},
          {"name", id.substr(id.find('.') + 1)},
          {"description", "A tool."},
          {"inputSchema", {{"type", "object"}}},
          {"annotations", {{"readOnlyHint", true}}},
          {"version", "3"},
          {"origin", {{"kind", "local"}}},
          {"limits", {{"time_ms", 1'000}, {"output_bytes", 4'096}}}};
}

json::Object with(json::Object object, std::string_view name, json::Value value) {
  object[boost::json::string_view(name.data(), name.size())] = std::move(value);
  return object;
}

json::Object from_peer(std::string_view node) {
  return with(record("sql.query"), "origin", {{"kind", "peer"}, {"node", node}});
}

FarTools read(json::Array records) { return read_tools("node-b", "node-a", records); }

TEST(ReadTools, a_tool_stands_in_the_namespace_of_its_node) {
  auto tools = read({record("sql.query")});
  ASSERT_THAT(tools.usable, SizeIs(1));
  const Capability& tool = tools.usable[0];
  EXPECT_EQ(tool.id.text(), "node-b.sql_query");
  EXPECT_EQ(tool.origin, OriginKind::kPeer);
  EXPECT_EQ(tool.origin_name, "node-b");
  EXPECT_EQ(tool.origin_tool, "sql.query");
  EXPECT_TRUE(tool.origin_hash.starts_with("sha256:"));
  EXPECT_EQ(tool.version, "3");
  EXPECT_TRUE(tool.annotations.read_only);
  EXPECT_EQ(tool.limits.time, std::chrono::milliseconds(1'000));
  EXPECT_EQ(tool.limits.output_bytes, 4'096U);
}

TEST(ReadTools, a_word_more_changes_the_hash) {
  auto before = read({record("sql.query")}).usable[0].origin_hash;
  auto after = read({with(record("sql.query"), "unknown", 1)}).usable[0].origin_hash;
  EXPECT_NE(before, after);
}

TEST(ReadTools, the_way_to_a_tool_is_told_and_leads_by_nobody_twice) {
  EXPECT_EQ(read({from_peer("node-c")}).usable[0].origin_name, "node-b/node-c");
  EXPECT_EQ(read({from_peer("node-c/node-d")}).usable[0].origin_name, "node-b/node-c/node-d");
  for (const char* way : {"node-a", "node-c/node-a", "node-b", "node-c/node-c", "node-c//node-d",
                          "a b", "c/d/e/f/g/h/i/j"}) {
    EXPECT_THAT(read({from_peer(way)}).usable, IsEmpty()) << way;
  }
}

TEST(ReadTools, what_breaks_a_rule_is_left_out_and_named) {
  auto tools =
      read({record("sql.query"), record("Sql.query"), record("sql"),
            record("a." + std::string(63, 'b')), with(record("a.b"), "inputSchema", 7),
            with(record("a.b"), "origin", nullptr), with(record("a.b"), "limits", json::Object()),
            with(record("a.b"), "limits", {{"time_ms", 0}, {"output_bytes", 1}}),
            with(record("a.b"), "description", json::Value(boost::json::string(kRecordBytes, 'x'))),
            with(record("a.b"), "big", 1LL << 60), 7, json::Array()});
  ASSERT_THAT(tools.usable, SizeIs(1));
  EXPECT_THAT(tools.left_out, SizeIs(11));
  for (const auto& left : tools.left_out) EXPECT_FALSE(left.why.empty()) << left.name;
}

TEST(ReadTools, of_two_that_look_alike_neither_is_taken) {
  auto tools = read({record("a.b_c"), record("a_b.c"), record("log.read_1"), record("log.read_l"),
                     record("x.y")});
  ASSERT_THAT(tools.usable, SizeIs(1));
  EXPECT_EQ(tools.usable[0].id.text(), "node-b.x_y");
  EXPECT_THAT(tools.left_out, SizeIs(4));
}

TEST(ReadTools, numbers_have_bounds) {
  json::Array many;
  for (std::size_t i = 0; i < kFarTools + 3; ++i) {
    many.push_back(record("a.q" + std::string(i % 64, 'q') + std::to_string(7'000 + i)));
  }
  auto tools = read(std::move(many));
  EXPECT_LE(tools.usable.size(), kFarTools);
  EXPECT_GE(tools.left_out.size(), 3U);
  json::Object limits{{"time_ms", 1LL << 40}, {"output_bytes", 1LL << 40}};
  auto bounded = read({with(record("a.b"), "limits", limits)}).usable[0].limits;
  EXPECT_EQ(bounded.time, std::chrono::milliseconds(300'000));
  EXPECT_EQ(bounded.output_bytes, 64U << 20);
}

}  // namespace
}  // namespace tool::federation

#include "toolserver/pipeline/registry.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/json/canonical.h"
#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

using testing::alice;
using testing::capability;
using testing::object;
using testing::TestConnector;

std::shared_ptr<TestConnector> connector(std::vector<Capability> tools) {
  return std::make_shared<TestConnector>(std::move(tools));
}

Capability bridged(std::string_view id) {
  Capability one = capability(id);
  one.origin = OriginKind::kBridge;
  one.origin_name = "w";
  return one;
}

Code refusal(ToolRegistry& registry, std::vector<Capability> tools) {
  auto added = registry.add(connector(std::move(tools)));
  EXPECT_FALSE(added.has_value());
  return added ? Code::kInternal : added.error().code;
}

TEST(RegistryTest, a_name_belongs_to_the_first_that_took_it) {
  ToolRegistry registry;
  ASSERT_TRUE(registry.add(connector({capability("sql.query")})).has_value());
  EXPECT_EQ(refusal(registry, {bridged("sql.query")}), Code::kShadow);
  EXPECT_EQ(refusal(registry, {capability("sql.query")}), Code::kShadow);
  EXPECT_EQ(refusal(registry, {bridged("sql.other")}), Code::kShadow);
  EXPECT_EQ(refusal(registry, {capability("a.b"), capability("a.b")}), Code::kShadow);
  EXPECT_TRUE(registry.add(connector({bridged("sqlx.query")})).has_value());
}

TEST(RegistryTest, takes_all_tools_of_a_connector_or_none) {
  ToolRegistry registry;
  ASSERT_TRUE(registry.add(connector({capability("sql.query")})).has_value());
  std::uint64_t version = registry.version();
  EXPECT_EQ(refusal(registry, {bridged("w.a"), bridged("sql.b")}), Code::kShadow);
  EXPECT_EQ(registry.find(*ToolId::parse("w.a")), nullptr);
  EXPECT_EQ(registry.version(), version);
}

TEST(RegistryTest, a_foreign_schema_that_is_not_understood_is_refused) {
  ToolRegistry registry;
  for (std::string_view schema :
       {R"({"type":"object","$dynamicRef":"https://a.example/b"})", R"({"type":"string"})", R"({})",
        R"({"type":"object","properties":{"n":{"maximum":9007199254740992}}})"}) {
    Capability odd = bridged("w.a");
    odd.input_schema = object(schema);
    EXPECT_EQ(refusal(registry, {odd}), Code::kShape) << schema;
  }
  Capability odd = bridged("w.a");
  odd.output_schema = object(R"({"$dynamicRef":"https://a.example/b"})");
  EXPECT_EQ(refusal(registry, {odd}), Code::kShape);
}

TEST(RegistryTest, a_local_schema_that_is_not_understood_is_refused_by_name) {
  ToolRegistry registry;
  Capability odd = capability("t.a");
  odd.input_schema = object(R"({"type":"object","Type":{}})");
  auto added = registry.add(connector({capability("t.b"), odd}));
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, Code::kShape);
  EXPECT_TRUE(added.error().message.starts_with("t.a: ")) << added.error().message;
  EXPECT_EQ(registry.find(*ToolId::parse("t.b")), nullptr);
}

TEST(RegistryTest, a_tool_may_have_a_bound_of_its_own) {
  ToolRegistry registry;
  Capability bounded = capability("t.a");
  bounded.limits.at_once = 2;
  ASSERT_TRUE(registry.add(connector({bounded, capability("t.b")})).has_value());
  EXPECT_NE(registry.find(*ToolId::parse("t.a"))->places, nullptr);
  EXPECT_EQ(registry.find(*ToolId::parse("t.b"))->places, nullptr);
}

TEST(RegistryTest, a_foreign_tool_waits_for_its_approval) {
  Capability tool = bridged("w.a");
  struct Case {
    const char* name;
    Trust trust;
    PinState state;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"first seen", {}, PinState::kQuarantined},
           {"trusted", {.first_seen = FirstSeen::kTrust}, PinState::kPinned},
           {"approved", {.approved = {{"w.a", tool.pin()}}}, PinState::kPinned},
           {"changed", {.approved = {{"w.a", "sha256:00"}}}, PinState::kChanged},
           {"changed though trusted",
            {.first_seen = FirstSeen::kTrust, .approved = {{"w.a", "sha256:00"}}},
            PinState::kChanged},
           {"another approved", {.approved = {{"w.b", tool.pin()}}}, PinState::kQuarantined},
       }) {
    ToolRegistry registry;
    ASSERT_TRUE(registry.add(connector({tool}), c.trust).has_value());
    auto entry = registry.find(tool.id);
    EXPECT_EQ(name(entry->state), name(c.state)) << c.name;
    EXPECT_EQ(entry->record.at("pin").at("state"), boost::json::string(name(c.state))) << c.name;
  }
}

// Lists are made of it.
TEST(RegistryTest, the_text_of_a_record_is_that_of_its_state_now) {
  ToolRegistry registry;
  Capability tool = bridged("w.a");
  ASSERT_TRUE(registry.add(connector({tool})).has_value());
  auto expect = [&](PinState state) {
    auto entry = registry.find(tool.id);
    EXPECT_EQ(name(entry->state), name(state));
    EXPECT_EQ(entry->record.at("pin").at("state"), boost::json::string(name(state)));
    EXPECT_EQ(entry->written, *base::json::canonical(entry->record));
  };
  expect(PinState::kQuarantined);
  ASSERT_TRUE(registry.approve(tool.id, tool.pin()).has_value());
  expect(PinState::kPinned);
  registry.hold(tool.id);
  expect(PinState::kQuarantined);
  registry.set_held({});
  expect(PinState::kPinned);
  bool passes = false;
  registry.set_screen([&](const Capability&) { return passes; });
  expect(PinState::kQuarantined);
}

// Its canonical form would be an integer that no reader takes.
TEST(RegistryTest, a_record_with_a_large_double_has_no_text) {
  ToolRegistry registry;
  Capability large = capability("t.a");
  large.input_schema = object(R"({"type":"object","properties":{"n":{"maximum":1e20}}})");
  ASSERT_TRUE(registry.add(connector({large, capability("t.b")})).has_value());
  EXPECT_EQ(registry.find(*ToolId::parse("t.a"))->written, "");
  EXPECT_NE(registry.find(*ToolId::parse("t.b"))->written, "");
}

TEST(RegistryTest, an_approval_is_for_the_tool_that_was_looked_at) {
  ToolRegistry registry;
  Capability tool = bridged("w.a");
  ASSERT_TRUE(registry.add(connector({tool})).has_value());
  EXPECT_EQ(registry.approve(tool.id, "sha256:00").error().code, Code::kPin);
  EXPECT_EQ(registry.approve(*ToolId::parse("w.x"), tool.pin()).error().code, Code::kTool);
  EXPECT_EQ(registry.find(tool.id)->state, PinState::kQuarantined);
  EXPECT_TRUE(registry.approve(tool.id, tool.pin()).has_value());
  EXPECT_EQ(registry.find(tool.id)->state, PinState::kPinned);
}

TEST(RegistryTest, a_connector_leaves_with_its_tools) {
  ToolRegistry registry;
  auto first = connector({capability("a.x"), capability("a.y")});
  ASSERT_TRUE(registry.add(first).has_value());
  ASSERT_TRUE(registry.add(connector({capability("b.x")})).has_value());
  registry.remove(*first);
  EXPECT_EQ(registry.find(*ToolId::parse("a.x")), nullptr);
  EXPECT_NE(registry.find(*ToolId::parse("b.x")), nullptr);
  EXPECT_TRUE(registry.add(connector({capability("a.x")})).has_value());
}

TEST(RegistryTest, holds_no_connector_once_it_has_forgotten_all) {
  ToolRegistry registry;
  std::weak_ptr<TestConnector> held;
  {
    auto tools = connector({capability("sql.query")});
    held = tools;
    ASSERT_TRUE(registry.add(std::move(tools)).has_value());
  }
  EXPECT_EQ(registry.capabilities_for(alice("tool:describe:sql.*"), Mode::kEncrypted)->tools.size(),
            1U);
  EXPECT_FALSE(held.expired());
  registry.forget_all();
  EXPECT_TRUE(held.expired()) << "also the lists that were made for callers";
  EXPECT_EQ(registry.find(*ToolId::parse("sql.query")), nullptr);
  EXPECT_TRUE(
      registry.capabilities_for(alice("tool:describe:sql.*"), Mode::kEncrypted)->tools.empty());
}

TEST(RegistryTest, lists_what_a_caller_may_know_of) {
  ToolRegistry registry;
  Capability strong = capability("t.strong");
  strong.min_mode = Mode::kEncrypted;
  ASSERT_TRUE(registry.add(connector({capability("t.a"), capability("t.b"), strong})).has_value());
  ASSERT_TRUE(registry.add(connector({bridged("w.a")})).has_value());
  auto ids = [&](std::string_view scopes, Mode mode) {
    std::string out;
    auto listing = registry.capabilities_for(alice(scopes), mode);
    for (const auto& entry : listing->tools) {
      out += entry->capability.id.text() + " ";
    }
    return out;
  };
  EXPECT_EQ(ids("", Mode::kEnterprise), "");
  EXPECT_EQ(ids("cap:list", Mode::kEnterprise), "");
  EXPECT_EQ(ids("tool:describe:t.b", Mode::kBasic), "t.b ");
  EXPECT_EQ(ids("tool:invoke:t.a", Mode::kBasic), "t.a ");
  EXPECT_EQ(ids("tool:describe:t.*", Mode::kBasic), "t.a t.b ");
  EXPECT_EQ(ids("tool:describe:t.*", Mode::kEncrypted), "t.a t.b t.strong ");
  EXPECT_EQ(ids("tool:invoke:w.*", Mode::kBasic), "");
}

TEST(RegistryTest, prompts_and_resources_are_listed_apart_from_tools) {
  ToolRegistry registry;
  std::vector<Capability> all{bridged("w.a")};
  for (const char* id : {"prompt:w.a", "resource:w.a"}) {
    all.push_back(bridged("w.a"));
    all.back().id = *ToolId::parse_any(id);
  }
  Trust trust{.first_seen = FirstSeen::kTrust, .approved = {}};
  ASSERT_TRUE(registry.add(connector(all), trust).has_value());
  auto ids = [&](std::string_view scopes, Offer offer) {
    std::string out;
    auto listing = registry.capabilities_for(alice(scopes), Mode::kBasic, offer);
    for (const auto& entry : listing->tools) out += entry->capability.id.text() + " ";
    return out;
  };
  constexpr std::string_view kAll = "tool:invoke:w.* prompt:get:w.* resource:read:w.*";
  EXPECT_EQ(ids(kAll, Offer::kTool), "w.a ");
  EXPECT_EQ(ids(kAll, Offer::kPrompt), "prompt:w.a ");
  EXPECT_EQ(ids(kAll, Offer::kResource), "resource:w.a ");
  EXPECT_EQ(ids("tool:invoke:w.*", Offer::kPrompt), "");
  EXPECT_EQ(ids("prompt:get:w.*", Offer::kTool), "");
  EXPECT_EQ(ids("prompt:get:w.*", Offer::kResource), "");
  // A pin is of one of them alone.
  Trust one{.first_seen = FirstSeen::kQuarantine, .approved = {{"w.a", all[0].pin()}}};
  ToolRegistry pinned;
  ASSERT_TRUE(pinned.add(connector(all), one).has_value());
  EXPECT_EQ(pinned.capabilities_for(alice(kAll), Mode::kBasic, Offer::kTool)->tools.size(), 1U);
  EXPECT_TRUE(pinned.capabilities_for(alice(kAll), Mode::kBasic, Offer::kPrompt)->tools.empty());
}

TEST(RegistryTest, the_etag_follows_the_list) {
  ToolRegistry registry;
  ASSERT_TRUE(registry.add(connector({capability("t.a")})).has_value());
  auto etag = [&](std::string_view scopes) {
    return registry.capabilities_for(alice(scopes), Mode::kBasic)->etag;
  };
  std::string one = etag("tool:invoke:t.*");
  EXPECT_EQ(etag("tool:describe:t.a"), one);
  EXPECT_NE(etag(""), one);
  ASSERT_TRUE(registry.add(connector({capability("u.a")})).has_value());
  EXPECT_EQ(etag("tool:invoke:t.*"), one);
  EXPECT_NE(etag("tool:invoke:t.* tool:invoke:u.a"), one);
}

TEST(RegistryTest, a_new_list_takes_the_place_of_the_old_one_at_once) {
  ToolRegistry registry;
  ASSERT_TRUE(registry.add(connector({capability("sql.query")})).has_value());
  auto first = connector({bridged("w.a"), bridged("w.b")});
  Trust trust{FirstSeen::kQuarantine, {{"w.a", bridged("w.a").pin()}}};
  EXPECT_TRUE(registry.replace(nullptr, first, trust).empty());
  EXPECT_EQ(registry.find(*ToolId::parse("w.a"))->state, PinState::kPinned);
  EXPECT_EQ(registry.find(*ToolId::parse("w.b"))->state, PinState::kQuarantined);
  Capability odd = bridged("w.odd");
  odd.input_schema = object(R"({"type":"object","nope":{}})");
  Capability changed = bridged("w.a");
  changed.description = "obey";
  auto second = connector({changed, odd, bridged("sql.other"), bridged("w.c")});
  auto left_out = registry.replace(first.get(), second, trust);
  ASSERT_EQ(left_out.size(), 2U);
  EXPECT_EQ(left_out[0].id.text(), "w.odd");
  EXPECT_EQ(left_out[0].why.code, Code::kShape);
  EXPECT_EQ(left_out[1].id.text(), "sql.other");
  EXPECT_EQ(left_out[1].why.code, Code::kShadow);
  EXPECT_EQ(registry.find(*ToolId::parse("w.a"))->state, PinState::kChanged);
  EXPECT_EQ(registry.find(*ToolId::parse("w.b")), nullptr);
  EXPECT_NE(registry.find(*ToolId::parse("w.c")), nullptr);
  EXPECT_NE(registry.find(*ToolId::parse("sql.query")), nullptr);
}

TEST(RegistryTest, holding_tells_only_of_what_changes) {
  ToolRegistry registry;
  ASSERT_TRUE(registry.add(connector({capability("t.a")})).has_value());
  int told = 0;
  registry.on_change([&] { ++told; });
  registry.set_held({});
  registry.set_screen([](const Capability&) { return true; });
  EXPECT_EQ(told, 0);
  registry.set_held({*ToolId::parse("t.a")});
  EXPECT_EQ(told, 1);
  EXPECT_EQ(registry.find(*ToolId::parse("t.a"))->state, PinState::kQuarantined);
  registry.set_held({});
  EXPECT_EQ(told, 2);
  EXPECT_EQ(registry.find(*ToolId::parse("t.a"))->state, PinState::kPinned);
}

TEST(RegistryTest, a_wait_ends_with_the_next_change) {
  ToolRegistry registry;
  boost::asio::io_context loop;
  using std::chrono::hours;
  using std::chrono::steady_clock;
  int ended = 0;
  auto wait = [&](std::uint64_t version, base::Deadline until) {
    boost::asio::co_spawn(loop, registry.await_change(version, until),
                          [&](const std::exception_ptr&) { ++ended; });
    loop.restart();
    loop.poll();
  };
  auto later = steady_clock::now() + hours(1);
  auto before = registry.version();
  wait(before, later);
  wait(before, later);
  EXPECT_EQ(ended, 0);
  ASSERT_TRUE(registry.add(connector({capability("t.a")})).has_value());
  loop.restart();
  loop.poll();
  EXPECT_EQ(ended, 2);
  // One that came before the wait ends it at once; so does the end of its time.
  wait(before, later);
  EXPECT_EQ(ended, 3);
  wait(registry.version(), steady_clock::now());
  EXPECT_EQ(ended, 4);
  wait(registry.version(), later);
  EXPECT_EQ(ended, 4);
  registry.wake_waiting();
  loop.restart();
  loop.run();
  EXPECT_EQ(ended, 5);
}

}  // namespace
}  // namespace tool::pipeline

#include "toolserver/model/capability.h"

#include <gtest/gtest.h>

#include <functional>

#include "toolserver/model/digest.h"

namespace tool {
namespace {

base::json::Object object(std::string_view text) { return base::json::parse(text)->as_object(); }

Capability sample() {
  Capability capability{.id = *ToolId::parse("sql.query")};
  capability.title = "Query";
  capability.description = "Runs one SELECT.";
  capability.input_schema = object(R"({"type":"object","properties":{"sql":{"type":"string"}}})");
  return capability;
}

TEST(CapabilityTest, shows_the_whole_record) {
  auto json = sample().to_json();
  std::string pin = sample().pin();
  auto expected = object(R"({
    "id": "sql.query", "name": "query", "title": "Query", "description": "Runs one SELECT.",
    "inputSchema": {"type":"object","properties":{"sql":{"type":"string"}}},
    "annotations": {"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,
                    "openWorldHint":true},
    "version": "1", "origin": {"kind":"local"},
    "requires": {"scopes":["tool:invoke:sql.query"],"consent":"never","min_mode":"simple"},
    "limits": {"time_ms":30000,"output_bytes":4194304}
  })");
  expected["pin"] =
      base::json::Object{{"alg", "sha256"}, {"h", boost::json::string(pin)}, {"state", "pinned"}};
  EXPECT_EQ(json, expected);
}

TEST(CapabilityTest, names_the_server_of_a_bridged_tool_and_the_node_of_a_peers) {
  auto capability = sample();
  capability.origin = OriginKind::kBridge;
  capability.origin_name = "weather";
  EXPECT_EQ(capability.to_json().at("origin"), object(R"({"kind":"bridge","server":"weather"})"));
  capability.origin = OriginKind::kPeer;
  EXPECT_EQ(capability.to_json().at("origin"), object(R"({"kind":"peer","node":"weather"})"));
}

TEST(CapabilityTest, the_pin_changes_with_every_part_of_the_tool) {
  using Change = std::function<void(Capability&)>;
  struct Case {
    const char* name;
    Change change;
  };
  std::string pin = sample().pin();
  EXPECT_EQ(pin.size(), 7u + 64u);
  EXPECT_EQ(sample().pin(), pin);
  for (const Case& c : std::initializer_list<Case>{
           {"id", [](auto& t) { t.id = *ToolId::parse("sql.query2"); }},
           {"title", [](auto& t) { t.title = "query"; }},
           {"description", [](auto& t) { t.description += " "; }},
           {"input schema", [](auto& t) { t.input_schema["title"] = "x"; }},
           {"output schema", [](auto& t) { t.output_schema.emplace(); }},
           {"read only", [](auto& t) { t.annotations.read_only = true; }},
           {"destructive", [](auto& t) { t.annotations.destructive = false; }},
           {"idempotent", [](auto& t) { t.annotations.idempotent = true; }},
           {"open world", [](auto& t) { t.annotations.open_world = false; }},
           {"version", [](auto& t) { t.version = "2"; }},
           {"origin", [](auto& t) { t.origin = OriginKind::kBridge; }},
           {"origin name", [](auto& t) { t.origin_name = "x"; }},
           {"consent", [](auto& t) { t.consent = ConsentRule::kFirst; }},
           {"min mode", [](auto& t) { t.min_mode = Mode::kBasic; }},
           {"time", [](auto& t) { t.limits.time += std::chrono::milliseconds(1); }},
           {"output", [](auto& t) { t.limits.output_bytes += 1; }},
       }) {
    auto changed = sample();
    c.change(changed);
    EXPECT_NE(changed.pin(), pin) << c.name;
  }
}

TEST(CapabilityTest, the_pin_does_not_follow_the_order_of_members) {
  auto turned = sample();
  turned.input_schema = object(R"({"properties":{"sql":{"type":"string"}},"type":"object"})");
  EXPECT_EQ(turned.pin(), sample().pin());
}

TEST(CapabilityTest, a_schema_without_canonical_form_still_has_a_pin) {
  auto odd = sample();
  odd.input_schema["maximum"] = std::int64_t{9'007'199'254'740'992};
  auto other = sample();
  other.input_schema["maximum"] = std::int64_t{9'007'199'254'740'993};
  EXPECT_NE(odd.pin(), other.pin());
}

TEST(DigestTest, is_that_of_the_canonical_arguments) {
  EXPECT_EQ(digest("abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(*args_digest(object(R"({"b":1.0,"a":"x"})")), digest(R"({"a":"x","b":1})"));
  EXPECT_FALSE(args_digest(object(R"({"a":9007199254740992})")).has_value());
}

}  // namespace
}  // namespace tool

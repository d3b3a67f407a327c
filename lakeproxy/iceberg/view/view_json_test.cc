#include "lakeproxy/iceberg/view/view_json.h"

#include <gtest/gtest.h>

#include "lakeproxy/iceberg/schema/given_id.h"
#include "lakeproxy/iceberg/view/view_update_json.h"

namespace lake::model {
namespace {

using base::ErrorKind;

// Source: Iceberg view specification, "Appendix A: An Example".
constexpr auto kExample = R"json({
  "view-uuid": "fa6506c3-7681-40c8-86dc-e36561f83385",
  "format-version": 1,
  "location": "s3://bucket/warehouse/default.db/event_agg",
  "properties": {"comment": "Daily event counts"},
  "schemas": [{"type": "struct", "schema-id": 1, "fields": [
    {"id": 1, "name": "event_count", "required": false, "type": "int", "doc": "Count of events"},
    {"id": 2, "name": "event_date", "required": false, "type": "date"}]}],
  "current-version-id": 1,
  "versions": [{
    "version-id": 1, "timestamp-ms": 1573518431292, "schema-id": 1,
    "summary": {"engine-name": "Spark", "engineVersion": "3.3.2"},
    "default-catalog": "prod", "default-namespace": ["default"],
    "representations": [
      {"type": "sql", "sql": "SELECT COUNT(1)\nFROM events", "dialect": "spark"}]}],
  "version-log": [{"timestamp-ms": 1573518431292, "version-id": 1}]
})json";

base::json::Value example() { return base::json::parse(kExample).value(); }

base::json::Value text(std::string_view characters) { return base::json::Value(characters); }

// Sets the member, or the element just behind the last one.
void put(base::json::Value& json, std::string_view pointer, base::json::Value value) {
  const std::size_t slash = pointer.rfind('/');
  base::json::Value& parent = slash == 0 ? json : json.at_pointer(pointer.substr(0, slash));
  if (parent.is_object()) {
    parent.as_object()[pointer.substr(slash + 1)] = std::move(value);
  } else {
    parent.as_array().push_back(std::move(value));
  }
}

base::Result<ViewMetadata> with(std::string_view pointer, base::json::Value value) {
  base::json::Value json = example();
  put(json, pointer, std::move(value));
  return view_metadata_from_json(json);
}

TEST(ViewJson, the_specifications_example_comes_back_as_it_was) {
  auto view = view_metadata_from_json(example());
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_EQ(view->current_version().default_catalog, "prod");
  EXPECT_EQ(view->current_version().representations[0].dialect, "spark");
  EXPECT_EQ(to_json(*view), example());
}

TEST(ViewJson, a_version_without_catalog_or_namespace_says_so) {
  auto json = example();
  json.at_pointer("/versions/0").as_object().erase("default-catalog");
  put(json, "/versions/0/default-namespace", base::json::Array{});
  auto view = view_metadata_from_json(json);
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_EQ(view->current_version().default_catalog, std::nullopt);
  EXPECT_EQ(to_json(*view), json);
}

TEST(ViewJson, the_highest_id_leaves_room_for_the_next) {
  for (const auto& [id, is_taken] :
       {std::pair(kMostGivenId, true), std::pair(kMostGivenId + 1, false), std::pair(-1, false)}) {
    auto versions = example();
    put(versions, "/versions/0/version-id", id);
    put(versions, "/current-version-id", id);
    EXPECT_EQ(view_metadata_from_json(versions).has_value(), is_taken) << id;
    auto schemas = example();
    put(schemas, "/schemas/0/schema-id", id);
    put(schemas, "/versions/0/schema-id", id);
    EXPECT_EQ(view_metadata_from_json(schemas).has_value(), is_taken) << id;
  }
}

TEST(ViewJson, metadata_that_breaks_a_rule_is_refused) {
  struct Case {
    std::string_view pointer;
    base::json::Value value;
  };
  const Case cases[] = {
      {"/view-uuid", "no uuid"},
      {"/current-version-id", 2},
      {"/versions/0/schema-id", 7},
      {"/versions/0/representations", base::json::Array{}},
      {"/versions/0/representations/0/type", "plan"},
      {"/versions/0/representations/0/sql", ""},
      {"/versions/0/representations/0/sql", text(std::string_view("a\0b", 3))},
      {"/versions/0/representations/0/sql", text(std::string(kMaxViewSql + 1, 'x'))},
      {"/versions/0/representations/0/dialect", ""},
      {"/versions/0/default-namespace", base::json::Array(17, "level")},
      {"/versions", base::json::Array{}},
      {"/versions/1", example().at_pointer("/versions/0")},
      {"/schemas/1", example().at_pointer("/schemas/0")},
      {"/schemas/0/fields/0/name", ""},
      {"/version-log/0/timestamp-ms", "yesterday"},
  };
  for (const Case& c : cases) {
    auto view = with(c.pointer, c.value);
    ASSERT_FALSE(view) << c.pointer;
    EXPECT_EQ(view.error().kind(), ErrorKind::kInvalid) << c.pointer;
  }
  EXPECT_EQ(with("/format-version", 2).error().kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(with("/versions/0/representations/0/sql", text(std::string(kMaxViewSql, 'x'))));
  EXPECT_TRUE(with("/versions/0/default-namespace", base::json::Array(16, "level")));
}

base::json::Value parsed(std::string_view text) { return base::json::parse(text).value(); }

TEST(ViewRequestJson, updates_of_views_are_read_and_those_of_tables_refused) {
  auto commit = view_commit_from_json(parsed(R"({
      "requirements": [{"type": "assert-view-uuid", "uuid": "fa6506c3-7681-40c8-86dc-e36561f83385"}],
      "updates": [{"action": "set-properties", "updates": {"a": "1"}},
                  {"action": "set-current-view-version", "view-version-id": -1}]})"));
  ASSERT_TRUE(commit) << commit.error().message();
  EXPECT_EQ(commit->requirements.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<SetProperties>(commit->updates[0]));
  EXPECT_EQ(std::get<SetCurrentViewVersion>(commit->updates[1]).version_id, -1);
  EXPECT_TRUE(view_commit_from_json(parsed(R"({"updates": []})")));
  for (const char* body :
       {R"({"updates": [{"action": "remove-schemas", "schema-ids": [1]}]})",
        R"({"updates": [{"action": "none"}]})", R"({})",
        R"({"updates": [], "requirements": [{"type": "assert-create"}]})",
        R"({"updates": [], "requirements": [{"type": "assert-view-uuid", "uuid": "x"}]})"}) {
    EXPECT_EQ(view_commit_from_json(parsed(body)).error().kind(), ErrorKind::kInvalid) << body;
  }
}

TEST(ViewRequestJson, a_view_needs_a_free_name_a_schema_and_a_version) {
  base::json::Object body{{"name", "v"},
                          {"schema", example().at_pointer("/schemas/0")},
                          {"view-version", example().at_pointer("/versions/0")},
                          {"properties", base::json::Object{}}};
  EXPECT_TRUE(create_view_from_json(body));
  for (const char* member : {"name", "schema", "view-version"}) {
    base::json::Object without = body;
    without.erase(member);
    EXPECT_EQ(create_view_from_json(without).error().kind(), ErrorKind::kInvalid) << member;
  }
  body["name"] = "__mask_v";
  EXPECT_EQ(create_view_from_json(body).error().kind(), ErrorKind::kInvalid);
}

TEST(ViewRequestJson, a_registration_needs_a_name_and_a_place) {
  EXPECT_TRUE(register_view_from_json(parsed(R"({"name": "v", "metadata-location": "s3://a/b"})")));
  EXPECT_FALSE(register_view_from_json(parsed(R"({"name": "v"})")));
  EXPECT_FALSE(
      register_view_from_json(parsed(R"({"name": "__MASK_v", "metadata-location": "s3://a/b"})")));
}

}  // namespace
}  // namespace lake::model

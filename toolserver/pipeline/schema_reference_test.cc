// References of a schema within its document: by URI, by anchor, and by $dynamicRef.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "toolserver/pipeline/schema.h"

namespace tool::pipeline {
namespace {

using base::ErrorKind;

base::json::Value json(std::string_view text) {
  auto value = base::json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *value : base::json::Value();
}

base::Result<Schema> compile(std::string_view text) {
  return Schema::compile(json(text).as_object());
}

struct Case {
  std::string_view schema;
  std::string_view value;
  bool fits;
};

void expect_each(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    auto schema = compile(c.schema);
    ASSERT_TRUE(schema.has_value()) << c.schema << " " << schema.error().message();
    auto status = schema->check(json(c.value), "args");
    EXPECT_EQ(status.has_value(), c.fits) << c.schema << " " << c.value;
    if (!status) EXPECT_EQ(status.error().kind(), ErrorKind::kInvalid) << c.schema;
  }
}

TEST(SchemaReferenceTest, a_reference_is_read_against_the_nearest_id) {
  constexpr std::string_view kItem =
      R"({"$id":"https://a.example/list","items":{"$ref":"item"},
          "$defs":{"i":{"$id":"item","type":"integer"}}})";
  constexpr std::string_view kOther =
      R"({"$id":"https://a.example/x/list","items":{"$ref":"/item#/$defs/n"},
          "$defs":{"i":{"$id":"../item","$defs":{"n":{"type":"null"}}}}})";
  // Each "#/$defs/t" is of its own resource.
  constexpr std::string_view kOwn =
      R"({"properties":{"out":{"$ref":"#/$defs/t"},
              "in":{"$id":"in","$ref":"#/$defs/t","$defs":{"t":{"type":"integer"}}}},
          "$defs":{"t":{"type":"string"}}})";
  constexpr std::string_view kUrn =
      R"({"$id":"urn:example:a","items":{"$ref":"urn:example:a#t"},
          "$defs":{"t":{"$anchor":"t","type":"null"}}})";
  // Without an "$id" at the root a relative one has a place all the same.
  constexpr std::string_view kNoRoot =
      R"({"items":{"$ref":"/b/item"},"$defs":{"i":{"$id":"b/item","type":"integer"}}})";
  constexpr std::string_view kRoot =
      R"({"$id":"https://a.example/n","properties":{"n":{"$ref":"https://a.example/n"}},
          "additionalProperties":false})";
  expect_each({{kItem, "[1]", true},
               {kItem, R"(["1"])", false},
               {kOther, "[null]", true},
               {kOther, "[1]", false},
               {kOwn, R"({"out":"a","in":1})", true},
               {kOwn, R"({"out":1})", false},
               {kOwn, R"({"in":"a"})", false},
               {kUrn, "[null]", true},
               {kUrn, "[1]", false},
               {kNoRoot, "[1]", true},
               {kNoRoot, "[null]", false},
               {kRoot, R"({"n":{"n":{}}})", true},
               {kRoot, R"({"n":{"m":{}}})", false},
               {R"({"properties":{"n":{"$ref":""}},"additionalProperties":false})",
                R"({"n":{"m":{}}})", false},
               {R"({"$id":"https://a.example/n#","minimum":1})", "1", true},
               {R"({"$id":"https://a.example/n#","minimum":1})", "0", false}});
}

TEST(SchemaReferenceTest, an_anchor_is_one_of_its_resource) {
  constexpr std::string_view kTwo =
      R"({"properties":{"a":{"$ref":"#t"},"b":{"$ref":"other#t"}},
          "$defs":{"a":{"$anchor":"t","type":"string"},
                   "b":{"$id":"other","$defs":{"c":{"$anchor":"t","type":"integer"}}}}})";
  constexpr std::string_view kDynamic =
      R"({"properties":{"a":{"$ref":"#t"}},"$defs":{"a":{"$dynamicAnchor":"t","type":"string"}}})";
  expect_each({{kTwo, R"({"a":"s","b":1})", true},
               {kTwo, R"({"a":1})", false},
               {kTwo, R"({"b":"s"})", false},
               {kDynamic, R"({"a":"s"})", true},
               {kDynamic, R"({"a":1})", false}});
}

// What a list of such a kind holds is said by whoever refers to the list.
constexpr std::string_view kList =
    R"("list":{"$id":"list","properties":{"all":{"items":{"$dynamicRef":"#item"}}},
               "$defs":{"any":{"$dynamicAnchor":"item"}}})";

TEST(SchemaReferenceTest, a_dynamic_reference_is_of_the_outermost_resource_with_the_anchor) {
  const std::string texts =
      R"({"$id":"https://a.example/texts","$ref":"list",
          "$defs":{"t":{"$dynamicAnchor":"item","type":"string"},)" +
      std::string(kList) + "}}";
  // The resources between have no such anchor, or are not the outermost.
  const std::string between =
      R"({"$id":"https://a.example/texts","$ref":"mid",
          "$defs":{"t":{"$dynamicAnchor":"item","type":"string"},
                   "m":{"$id":"mid","$ref":"mid2"},
                   "n":{"$id":"mid2","$ref":"list",
                        "$defs":{"i":{"$dynamicAnchor":"item","type":"integer"}}},)" +
      std::string(kList) + "}}";
  // The same list by two ways.
  const std::string two =
      R"({"properties":{"texts":{"$id":"texts","$ref":"list",
                                 "$defs":{"t":{"$dynamicAnchor":"item","type":"string"}}},
                        "counts":{"$id":"counts","$ref":"list",
                                  "$defs":{"t":{"$dynamicAnchor":"item","type":"integer"}}}},
          "$defs":{)" +
      std::string(kList) + "}}";
  // A resource that was left counts no more.
  const std::string left =
      R"({"if":{"$id":"first","$defs":{"t":{"$dynamicAnchor":"item","type":"string"}}},
          "then":{"$ref":"list"},"$defs":{)" +
      std::string(kList) + "}}";
  // A plain anchor of the name is none of the kind.
  const std::string plain =
      R"({"$id":"https://a.example/texts","$ref":"list",
          "$defs":{"t":{"$anchor":"item","type":"string"},)" +
      std::string(kList) + "}}";
  expect_each({{texts, R"({"all":["a"]})", true},
               {texts, R"({"all":[1]})", false},
               {between, R"({"all":["a"]})", true},
               {between, R"({"all":[1]})", false},
               {two, R"({"texts":{"all":["a"]},"counts":{"all":[1]}})", true},
               {two, R"({"texts":{"all":[1]}})", false},
               {two, R"({"counts":{"all":["a"]}})", false},
               {left, R"({"all":[1,"a"]})", true},
               {plain, R"({"all":[1,"a"]})", true}});
}

TEST(SchemaReferenceTest, a_dynamic_reference_without_a_dynamic_anchor_is_a_reference) {
  constexpr std::string_view kPointer =
      R"({"$ref":"list","$defs":{"t":{"$dynamicAnchor":"item","type":"string"},
          "list":{"$id":"list","items":{"$dynamicRef":"#/$defs/i"},
                  "$defs":{"i":{"$dynamicAnchor":"item","type":"integer"}}}}})";
  constexpr std::string_view kPlain =
      R"({"$ref":"list","$defs":{"t":{"$dynamicAnchor":"item","type":"string"},
          "list":{"$id":"list","items":{"$dynamicRef":"#item"},
                  "$defs":{"i":{"$anchor":"item","type":"integer"}}}}})";
  constexpr std::string_view kOne =
      R"({"items":{"$dynamicRef":"#item"},
          "$defs":{"i":{"$dynamicAnchor":"item","type":"integer"}}})";
  expect_each({{kPointer, "[1]", true},
               {kPointer, R"(["a"])", false},
               {kPlain, "[1]", true},
               {kPlain, R"(["a"])", false},
               {kOne, "[1]", true},
               {kOne, R"(["a"])", false}});
}

// A tree that takes more members, with its children as strict as itself.
TEST(SchemaReferenceTest, what_a_dynamic_reference_takes_counts_as_taken) {
  constexpr std::string_view kStrict =
      R"({"$id":"https://a.example/strict","$dynamicAnchor":"node","$ref":"tree",
          "unevaluatedProperties":false,
          "$defs":{"t":{"$id":"tree","$dynamicAnchor":"node","properties":{"data":{},
              "children":{"items":{"$dynamicRef":"#node"}}}}}})";
  constexpr std::string_view kAddons =
      R"({"$ref":"base","$defs":{"more":{"$dynamicAnchor":"more","properties":{"b":{}}},
          "base":{"$id":"base","properties":{"a":{}},"$dynamicRef":"#more",
                  "unevaluatedProperties":false,"$defs":{"none":{"$dynamicAnchor":"more"}}}}})";
  expect_each({{kStrict, R"({"children":[{"data":1}]})", true},
               {kStrict, R"({"children":[{"daat":1}]})", false},
               {kAddons, R"({"a":1,"b":1})", true},
               {kAddons, R"({"a":1,"c":1})", false}});
}

TEST(SchemaReferenceTest, the_meta_schema_is_at_hand) {
  constexpr std::string_view kForm =
      R"({"properties":{"form":{"$ref":"https://json-schema.org/draft/2020-12/schema#"}}})";
  // A tool's own words, at every level of the schema that it takes.
  constexpr std::string_view kWords =
      R"({"$id":"https://a.example/words","$dynamicAnchor":"meta",
          "$ref":"https://json-schema.org/draft/2020-12/schema",
          "properties":{"x-unit":{"type":"string"}},"unevaluatedProperties":false})";
  // What the document itself has under the URI comes first.
  constexpr std::string_view kOwn =
      R"({"$ref":"https://json-schema.org/draft/2020-12/schema",
          "$defs":{"m":{"$id":"https://json-schema.org/draft/2020-12/schema","type":"null"}}})";
  expect_each({{kForm, R"({"form":{"properties":{"a":{"minLength":1}}}})", true},
               {kForm, R"({"form":true})", true},
               {kForm, R"({"form":{"type":"text"}})", false},
               {kForm, R"({"form":{"properties":{"a":{"minLength":-1}}}})", false},
               {kWords, R"({"properties":{"a":{"x-unit":"m"}}})", true},
               {kWords, R"({"properties":{"a":{"x-unit":1}}})", false},
               {kWords, R"({"properties":{"a":{"x-other":"m"}}})", false},
               {kOwn, "null", true},
               {kOwn, "{}", false}});
}

TEST(SchemaReferenceTest, a_reference_that_is_not_understood_is_refused) {
  const std::string long_uri = "https://a.example/" + std::string(2'048, 'a');
  struct Refusal {
    const char* name;
    std::string schema;
    ErrorKind kind;
  };
  for (const Refusal& c : std::initializer_list<Refusal>{
           {"$id is no string", R"({"not":{"$id":1}})", ErrorKind::kInvalid},
           {"$id with a fragment", R"({"$id":"https://a.example/a#b"})", ErrorKind::kInvalid},
           {"$id that is a fragment", R"({"not":{"$id":"#b"}})", ErrorKind::kInvalid},
           {"$id twice", R"({"not":{"$id":"b"},"if":{"$id":"./b"}})", ErrorKind::kInvalid},
           {"$id of the root below", R"({"$id":"https://a.example/a","not":{"$id":"a"}})",
            ErrorKind::kInvalid},
           {"$id too long", R"({"$id":")" + long_uri + "\"}", ErrorKind::kTooLarge},
           {"$id too long with its base",
            R"({"$id":"https://a.example/)" + std::string(1'500, 'a') + R"(/","not":{"$id":")" +
                std::string(1'500, 'b') + "\"}}",
            ErrorKind::kTooLarge},
           {"$ref too long", R"({"$ref":")" + long_uri + "\"}", ErrorKind::kTooLarge},
           {"$ref to no resource", R"({"$id":"https://a.example/a","$ref":"b"})",
            ErrorKind::kUnsupported},
           {"$ref to a resource of another base",
            R"({"$id":"https://a.example/a","$ref":"https://b.example/b",
                "$defs":{"b":{"$id":"b"}}})",
            ErrorKind::kUnsupported},
           {"$ref to a vocabulary", R"({"$ref":"https://json-schema.org/draft/2020-12/meta/core"})",
            ErrorKind::kUnsupported},
           {"$ref to an older draft", R"({"$ref":"http://json-schema.org/draft-07/schema#"})",
            ErrorKind::kUnsupported},
           {"$ref to no place of the meta-schema",
            R"({"$ref":"https://json-schema.org/draft/2020-12/schema#/$defs/none"})",
            ErrorKind::kInvalid},
           {"$ref to an $id within a note", R"({"$ref":"b","examples":[{"$id":"b"}]})",
            ErrorKind::kUnsupported},
           {"$ref to an $id within a value", R"({"$ref":"b","const":{"$id":"b"}})",
            ErrorKind::kUnsupported},
           {"$ref to no anchor of the resource",
            R"({"$ref":"b#c","$defs":{"a":{"$anchor":"c"},"b":{"$id":"b"}}})", ErrorKind::kInvalid},
           {"$ref to no place of the resource",
            R"({"$ref":"b#/$defs/c","$defs":{"c":{},"b":{"$id":"b"}}})", ErrorKind::kInvalid},
           {"$dynamicRef is no string", R"({"$dynamicRef":1})", ErrorKind::kInvalid},
           {"$dynamicRef away", R"({"$dynamicRef":"https://a.example/s#meta"})",
            ErrorKind::kUnsupported},
           {"$dynamicRef to no anchor", R"({"$dynamicRef":"#a"})", ErrorKind::kInvalid},
           {"$dynamicRef to itself", R"({"$dynamicRef":"#"})", ErrorKind::kInvalid},
           {"$dynamicRef to the one anchor around it",
            R"({"$dynamicAnchor":"a","not":{"$dynamicRef":"#a"}})", ErrorKind::kInvalid},
           {"$ref in a circle of resources",
            R"({"$id":"https://a.example/a","$ref":"b","$defs":{"b":{"$id":"b","$ref":"a"}}})",
            ErrorKind::kInvalid},
           {"$anchor is no name", R"({"$anchor":"a/b"})", ErrorKind::kInvalid},
           {"$dynamicAnchor is no name", R"({"$dynamicAnchor":"1"})", ErrorKind::kInvalid},
           {"$dynamicAnchor is no string", R"({"$dynamicAnchor":true})", ErrorKind::kInvalid},
           {"$dynamicAnchor twice", R"({"$dynamicAnchor":"a","not":{"$dynamicAnchor":"a"}})",
            ErrorKind::kInvalid},
           {"both anchors of a name", R"({"$dynamicAnchor":"a","not":{"$anchor":"a"}})",
            ErrorKind::kInvalid},
       }) {
    auto schema = compile(c.schema);
    ASSERT_FALSE(schema.has_value()) << c.name;
    EXPECT_EQ(schema.error().kind(), c.kind) << c.name << " " << schema.error().message();
    EXPECT_TRUE(schema.error().message().starts_with("schema: /")) << schema.error().message();
  }
}

// Which resources are entered decides, so only a check can tell. Within "not" it is no
// refusal of the value either.
TEST(SchemaReferenceTest, a_dynamic_reference_that_leads_back_to_itself_ends) {
  for (std::string_view schema : {
           R"({"$id":"https://a.example/a","$dynamicAnchor":"x","$ref":"b",
               "$defs":{"b":{"$id":"b","$dynamicRef":"#x","$defs":{"d":{"$dynamicAnchor":"x"}}}}})",
           R"({"$id":"https://a.example/a","$dynamicAnchor":"x","not":{"$ref":"b"},
               "$defs":{"b":{"$id":"b","$dynamicRef":"#x","$defs":{"d":{"$dynamicAnchor":"x"}}}}})",
       }) {
    auto compiled = compile(schema);
    ASSERT_TRUE(compiled.has_value()) << compiled.error().message();
    auto status = compiled->check(json("1"), "args");
    ASSERT_FALSE(status.has_value()) << schema;
    EXPECT_EQ(status.error().kind(), ErrorKind::kTooLarge);
    EXPECT_EQ(status.error().message(), "args: a $dynamicRef leads back to itself");
  }
  // The same two resources, with a step into the value between.
  constexpr std::string_view kTree =
      R"({"$id":"https://a.example/a","$dynamicAnchor":"x","$ref":"b",
          "$defs":{"b":{"$id":"b","items":{"$dynamicRef":"#x"},
                        "$defs":{"d":{"$dynamicAnchor":"x"}}}}})";
  expect_each({{kTree, "[[[]]]", true}});
}

TEST(SchemaReferenceTest, a_deep_dynamic_scope_is_bounded) {
  // Each level of the value enters two resources that have no such anchor.
  constexpr std::string_view kDeep =
      R"({"items":{"$id":"a","items":{"$id":"b","$ref":"/","$dynamicRef":"#x",
              "$defs":{"d":{"$dynamicAnchor":"x"}}}},
          "$defs":{"c":{"$id":"c","$defs":{"d":{"$dynamicAnchor":"x","type":"null"}}}}})";
  auto schema = compile(kDeep);
  ASSERT_TRUE(schema.has_value()) << schema.error().message();
  base::json::Value value = base::json::Array{};
  for (int i = 0; i < 400; ++i) value = base::json::Array{std::move(value)};
  auto status = schema->check(value, "args");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind(), ErrorKind::kTooLarge);
}

}  // namespace
}  // namespace tool::pipeline

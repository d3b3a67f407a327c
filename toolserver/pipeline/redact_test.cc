#include "toolserver/pipeline/redact.h"

#include <gtest/gtest.h>

namespace tool::pipeline {
namespace {

using base::json::Value;

Value json(std::string_view text) { return *base::json::parse(text); }

ToolResult answer() {
  ToolResult result;
  result.content = {{"text/plain", "a 1"}, {"text/plain", "b 2"}};
  result.structured = json(R"({"rows":[["a",1],["b",2]],"x/y":"s","m~n":"t"})");
  return result;
}

TEST(Redact, a_pointer_takes_out_its_place_and_no_other) {
  struct Case {
    std::string pointer;
    std::size_t count;
    std::string left;
  };
  for (const Case& c : {
           Case{"/a", 1, R"({"a":"[redacted]","b":[1,{"c":2}],"d/e":3,"f~g":4})"},
           Case{"/b/1/c", 1, R"({"a":0,"b":[1,{"c":"[redacted]"}],"d/e":3,"f~g":4})"},
           Case{"/b/0", 1, R"({"a":0,"b":["[redacted]",{"c":2}],"d/e":3,"f~g":4})"},
           Case{"/d~1e", 1, R"({"a":0,"b":[1,{"c":2}],"d/e":"[redacted]","f~g":4})"},
           Case{"/f~0g", 1, R"({"a":0,"b":[1,{"c":2}],"d/e":3,"f~g":"[redacted]"})"},
           Case{"/b/2", 0, R"({"a":0,"b":[1,{"c":2}],"d/e":3,"f~g":4})"},
           Case{"/b/00", 0, R"({"a":0,"b":[1,{"c":2}],"d/e":3,"f~g":4})"},
           Case{"/b/-", 0, R"({"a":0,"b":[1,{"c":2}],"d/e":3,"f~g":4})"},
           Case{"/nothing/here", 0, R"({"a":0,"b":[1,{"c":2}],"d/e":3,"f~g":4})"},
           Case{"", 1, R"("[redacted]")"},
           Case{"/a~", 0, R"({"a":0,"b":[1,{"c":2}],"d/e":3,"f~g":4})"},
       }) {
    Value document = json(R"({"a":0,"b":[1,{"c":2}],"d/e":3,"f~g":4})");
    EXPECT_EQ(redact_at(document, {c.pointer}), c.count) << c.pointer;
    EXPECT_EQ(base::json::write(document), c.left) << c.pointer;
  }
}

TEST(Redact, content_that_says_the_same_goes_with_a_place_of_structured) {
  ToolResult result = answer();
  EXPECT_EQ(redact_at(result, {"/structured/rows/1/1"}), 3U);
  EXPECT_EQ(result.content[0].data, kRedacted);
  EXPECT_EQ(result.content[1].data, kRedacted);
  EXPECT_EQ(result.structured->at("rows").at(1).at(1).as_string(), kRedacted);
  EXPECT_EQ(result.structured->at("rows").at(0).at(1), 1);
}

TEST(Redact, content_that_is_named_goes_part_by_part) {
  ToolResult result = answer();
  EXPECT_EQ(redact_at(result, {"/structured/rows/1", "/content/1/text"}), 2U);
  EXPECT_EQ(result.content[0].data, "a 1");
  EXPECT_EQ(result.content[1].data, kRedacted);
  result = answer();
  EXPECT_EQ(redact_at(result, {"/content"}), 2U);
  result = answer();
  EXPECT_EQ(redact_at(result, {"/structured"}), 3U);
  EXPECT_EQ(result.structured->as_string(), kRedacted);
}

TEST(Redact, the_empty_pointer_takes_all) {
  ToolResult result = answer();
  EXPECT_GE(redact_at(result, {""}), 3U);
  EXPECT_EQ(result.content[0].data, kRedacted);
  EXPECT_EQ(result.structured->as_string(), kRedacted);
}

TEST(Redact, a_place_that_is_not_there_changes_nothing) {
  ToolResult result = answer();
  EXPECT_EQ(redact_at(result, {"/structured/none", "/content/9", "/other", "/contentious"}), 0U);
  EXPECT_EQ(result.content[0].data, "a 1");
}

}  // namespace
}  // namespace tool::pipeline

#include "toolserver/model/tool_id.h"

#include <gtest/gtest.h>

namespace tool {
namespace {

TEST(ToolIdTest, takes_a_namespace_and_a_name) {
  std::string longest(64, 'a');
  for (const std::string& text : {std::string("sql.query"), std::string("a.b"),
                                  std::string("f-1_x.list_2-"), longest + "." + longest}) {
    auto id = ToolId::parse(text);
    ASSERT_TRUE(id.has_value()) << text;
    EXPECT_EQ(id->text(), text);
    EXPECT_EQ(std::string(id->space()) + "." + std::string(id->name()), text);
  }
}

TEST(ToolIdTest, a_prompt_or_a_resource_is_never_a_tool) {
  auto tool = ToolId::parse_any("git.log");
  auto prompt = ToolId::parse_any("prompt:git.log");
  auto resource = ToolId::parse_any("resource:git.log");
  ASSERT_TRUE(tool && prompt && resource);
  EXPECT_EQ(tool->offer(), Offer::kTool);
  EXPECT_EQ(prompt->offer(), Offer::kPrompt);
  EXPECT_EQ(resource->offer(), Offer::kResource);
  for (const auto& id : {*tool, *prompt, *resource}) {
    EXPECT_EQ(id.space(), "git");
    EXPECT_EQ(id.name(), "log");
    EXPECT_EQ(id.plain(), "git.log");
  }
  EXPECT_FALSE(*tool == *prompt || *tool == *resource || *prompt == *resource);
  for (const char* text : {"prompt:git.log", "resource:git.log", "tool:git.log"}) {
    EXPECT_FALSE(ToolId::parse(text).has_value()) << text;
  }
  for (const char* text :
       {"prompt:", "prompt:git", "prompt:.log", "Prompt:git.log", "prompt.git.log",
        "prompt:prompt:git.log", "tool:git.log", "resources:git.log"}) {
    EXPECT_FALSE(ToolId::parse_any(text).has_value()) << text;
  }
}

TEST(ToolIdTest, refuses_every_other_form) {
  struct Case {
    const char* name;
    std::string text;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"empty", ""},
           {"no dot", "sql"},
           {"no namespace", ".query"},
           {"no name", "sql."},
           {"two dots", "sql.query.x"},
           {"upper case", "sql.Query"},
           {"star", "sql.*"},
           {"space", "sql.que ry"},
           {"space at the end", "sql.query "},
           {"line end", "sql.query\n"},
           {"NUL", std::string("sql.query\0", 10)},
           {"digit first", "1sql.query"},
           {"digit first in the name", "sql.1"},
           {"dash first", "sql.-q"},
           {"colon", "sql.a:b"},
           {"Cyrillic letter", "sql.qu\xD0\xB5ry"},
           {"namespace of 65", std::string(65, 'a') + ".b"},
           {"name of 65", "a." + std::string(65, 'b')},
       }) {
    auto id = ToolId::parse(c.text);
    ASSERT_FALSE(id.has_value()) << c.name;
    EXPECT_EQ(id.error().kind(), base::ErrorKind::kInvalid) << c.name;
  }
}

}  // namespace
}  // namespace tool

#include "toolserver/connectors/command/command_tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/child_process.h"
#include "toolserver/connectors/approved_for_test.h"
#include "toolserver/connectors/command/fixture_test.h"
#include "toolserver/definition/read_definitions.h"

namespace tool::command {
namespace {

using base::json::Object;
using ::testing::ElementsAre;

definition::ToolDefinition definition_of(std::string_view members) {
  auto section = base::json::parse(R"({"t":{"kind":"command","description":"d",)" +
                                   std::string(members) + "}}");
  EXPECT_TRUE(section.has_value()) << members;
  auto read =
      definition::read_definitions(section->get_object(), {"/", {"TOKEN=Vq8ZpR2mXw6T"}, nullptr});
  EXPECT_THAT(read.faults, ElementsAre());
  return read.tools.at(0);
}

Outcome<ToolResult> call(const definition::ToolDefinition& definition, Object args,
                         bool dry_run = false) {
  CommandTool tool(definition);
  Invocation call{.tool = *ToolId::parse("tools.t")};
  call.args = std::move(args);
  call.dry_run = dry_run;
  call.context.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  return testing::run(tool.run(ApprovedForTest::make(std::move(call)), {}));
}

Outcome<std::vector<std::string>> arguments(std::string_view list, Object args) {
  auto definition = definition_of(
      R"("program":"/bin/true","parameters":{"a":{"type":"string","optional":true},
         "b":{"type":"string","optional":true},"n":{"type":"integer","optional":true}},
         "arguments":)" +
      std::string(list));
  return arguments_of(std::get<definition::CommandWork>(definition.work), args);
}

TEST(CommandToolTest, each_element_is_one_argument_whatever_stands_in_it) {
  for (std::string_view value : {"a b", "$(id)", "`id`", "; id", "| id", "a\nb", "*", "'\"", "\\",
                                 "a -b", "{b}", "\xc3\xa9", "", " -x"}) {
    auto got = arguments(R"(["x","{a}","--k={a}"])", {{"a", value}});
    ASSERT_TRUE(got.has_value()) << value;
    EXPECT_THAT(*got, ElementsAre("x", std::string(value), "--k=" + std::string(value)));
  }
}

TEST(CommandToolTest, a_value_cannot_become_an_option) {
  struct Case {
    const char* list;
    Object args;
    bool allowed;
  };
  for (const Case& c : std::vector<Case>{
           {R"(["{a}"])", {{"a", "-x"}}, false},
           {R"(["{a}"])", {{"a", "--"}}, false},
           {R"(["{a}"])", {{"a", "-"}}, false},
           {R"(["{a}{b}"])", {{"a", ""}, {"b", "-x"}}, false},
           {R"(["{n}"])", {{"n", -1}}, false},
           {R"(["{n}"])", {{"n", 1}}, true},
           {R"(["{a}"])", {{"a", "x-"}}, true},
           {R"(["--k={a}"])", {{"a", "-x"}}, true},
           {R"(["--","{a}"])", {{"a", "-x"}}, true},
           {R"(["{a}","--"])", {{"a", "-x"}}, false},
           {R"(["{b}","{a}"])", {{"b", "--"}, {"a", "-x"}}, false},
           {R"(["-{a}"])", {{"a", "-x"}}, true},
       }) {
    auto got = arguments(c.list, c.args);
    EXPECT_EQ(got.has_value(), c.allowed) << c.list;
    if (!got) {
      EXPECT_EQ(got.error().code, Code::kShape);
      EXPECT_TRUE(got.error().message.starts_with("args.")) << got.error().message;
    }
  }
}

TEST(CommandToolTest, an_element_of_an_argument_that_is_left_out_is_left_out) {
  EXPECT_THAT(*arguments(R"(["x","--a={a}","{b}"])", {{"b", "y"}}), ElementsAre("x", "y"));
}

TEST(CommandToolTest, arguments_are_bounded) {
  EXPECT_TRUE(arguments(R"(["{a}"])", {{"a", std::string(64 << 10, 'x')}}).has_value());
  EXPECT_FALSE(arguments(R"(["{a}"])", {{"a", std::string((64 << 10) + 1, 'x')}}).has_value());
  EXPECT_FALSE(arguments(R"(["{a}"])", {{"a", std::string("a\0b", 3)}}).has_value());
}

TEST(CommandToolTest, answers_with_what_the_program_wrote) {
  auto text = call(definition_of(R"("program":"/usr/bin/wc","arguments":["-w"],"input":"{t}",
                                    "parameters":{"t":{"type":"string"}})"),
                   {{"t", "one two three"}});
  ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_FALSE(text->is_error);
  EXPECT_EQ(text->content.at(0).data, "3\n");
  EXPECT_FALSE(text->structured.has_value());
}

TEST(CommandToolTest, json_becomes_the_structured_answer_and_what_is_none_a_fault) {
  auto echo = definition_of(R"("program":"/bin/cat","input":"json","answer":"json",
                               "parameters":{"b":{},"a":{}})");
  auto got = call(echo, {{"b", 1}, {"a", base::json::Array{true}}});
  ASSERT_TRUE(got.has_value()) << got.error().message;
  EXPECT_EQ(base::json::write(*got->structured), R"({"a":[true],"b":1})");
  EXPECT_EQ(got->content.at(0).media_type, "application/json");
  for (std::string_view script : {"echo no", "true", "echo {{}}{{}}", "printf '\\377'"}) {
    auto bad = definition_of(R"("program":"/bin/sh","answer":"json","arguments":["-c",")" +
                             std::string(script == "printf '\\377'" ? "printf '\\\\377'" : script) +
                             R"("])");
    auto refused = call(bad, {});
    ASSERT_FALSE(refused.has_value()) << script;
    EXPECT_EQ(refused.error().code, Code::kUpstream);
  }
}

TEST(CommandToolTest, an_exit_code_that_is_not_good_is_an_error_of_the_tools_own) {
  auto bad = call(
      definition_of(R"("program":"/bin/sh","arguments":["-c","echo out; echo no >&2; exit 4"])"),
      {});
  ASSERT_TRUE(bad.has_value());
  EXPECT_TRUE(bad->is_error);
  EXPECT_EQ(bad->content.at(0).data, "the program ended with exit code 4");
  auto shown = call(definition_of(R"("program":"/bin/sh","stderr":"show",
                                     "arguments":["-c","printf 'no\\033[1m' >&2; exit 4"])"),
                    {});
  EXPECT_EQ(shown->content.at(0).data, "the program ended with exit code 4\nno\\x1b[1m");
  auto good = call(
      definition_of(R"("program":"/bin/sh","ok_codes":[4],"arguments":["-c","echo out; exit 4"])"),
      {});
  EXPECT_FALSE(good->is_error);
  EXPECT_EQ(good->content.at(0).data, "out\n");
}

TEST(CommandToolTest, a_secret_reaches_the_program_and_no_answer) {
  std::string with = R"("secrets":{"a_env":"TOKEN"},"environment":{"KEY":"{secret.a}"},)";
  auto echoed = call(definition_of(with + R"("program":"/usr/bin/env")"), {});
  EXPECT_EQ(echoed->content.at(0).data, "KEY=***\n");
  auto length = call(
      definition_of(with + R"("program":"/bin/sh","arguments":["-c","printf ${{#KEY}}"])"), {});
  EXPECT_EQ(length->content.at(0).data, "12");
  auto error =
      call(definition_of(
               with +
               R"("program":"/bin/sh","stderr":"show","arguments":["-c","echo $KEY >&2; exit 1"])"),
           {});
  EXPECT_TRUE(error->content.at(0).data.ends_with("\n***\n")) << error->content.at(0).data;
}

TEST(CommandToolTest, a_dry_run_checks_and_does_not_run) {
  base::testing::TemporaryFolder folder;
  auto touch = definition_of(R"("program":"/usr/bin/touch","arguments":["{f}"],
                                "parameters":{"f":{"type":"string"}})");
  std::string file = folder.path() + "/made";
  EXPECT_TRUE(call(touch, {{"f", file}}, true).has_value());
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_FALSE(call(touch, {{"f", "-x"}}, true).has_value());
  EXPECT_TRUE(call(touch, {{"f", file}}).has_value());
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(CommandToolTest, too_long_an_answer_is_a_limit) {
  auto zeros = definition_of(R"("program":"/usr/bin/yes","answer_max":1000)");
  auto got = call(zeros, {});
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, Code::kLimit);
}

}  // namespace
}  // namespace tool::command

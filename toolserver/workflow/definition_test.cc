#include "toolserver/workflow/definition.h"

#include <gtest/gtest.h>

#include "toolserver/workflow/tool_check.h"

namespace tool::workflow {
namespace {

namespace json = base::json;

json::Object object(std::string_view text) { return json::parse(text)->as_object(); }

// Around the steps of a test.
std::string with(std::string_view steps, std::string_view more = "") {
  return R"({"workflow":1,"steps":[)" + std::string(steps) + "]" + std::string(more) + "}";
}
std::string fault_of(const std::string& text, const Bounds& bounds = {}) {
  auto read = read_workflow(object(text), bounds);
  return read ? "" : std::string(name(read.error().code)) + " " + read.error().message;
}

TEST(DefinitionTest, a_step_waits_for_those_it_names_takes_from_and_looks_at) {
  auto read = read_workflow(
      object(with(R"({"name":"a","tool":"t.a"},{"name":"b","tool":"t.b"},{"name":"c","tool":"t.c"},
        {"name":"d","tool":"t.d","after":["a"],"args":{"x":[{"$from":"/steps/b/structured/n"}]},
         "if":{"from":"/steps/c/status","equals":"done"},"retry":{"attempts":3,"pause_ms":5},
         "timeout_ms":70,"may_fail":true,"undo":{"tool":"t.u"}})",
                  R"(,"title":"T","time_ms":9,"parallel":2,"output":{"$from":"/steps/d"})")),
      {});
  ASSERT_TRUE(read) << read.error().message;
  const Step& d = read->steps.at(3);
  EXPECT_EQ(d.after, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(d.takes, (std::vector<std::size_t>{1}));
  EXPECT_EQ(d.use.retry.attempts, 3U);
  EXPECT_EQ(d.use.time, std::chrono::milliseconds(70));
  EXPECT_TRUE(d.may_fail && d.undo);
  EXPECT_EQ(read->parallel, 2U);
  EXPECT_EQ(read->time, std::chrono::milliseconds(9));
}

TEST(DefinitionTest, what_stands_in_a_literal_is_no_pointer) {
  auto text = with(R"({"name":"a","tool":"t.a","args":{"x":{"$literal":{"$from":"/nowhere"}}}})");
  EXPECT_EQ(fault_of(text), "");
  auto read = read_workflow(object(text), {});
  std::vector<std::string> filled;
  auto args = fill(json::Value(read->steps[0].use.args), json::Value(json::Object()), 100, filled);
  EXPECT_EQ(json::write(*args), R"({"x":{"$from":"/nowhere"}})");
  EXPECT_TRUE(filled.empty());
}

struct Bad {
  std::string steps;
  std::string fault;  // With which the message begins.
};
class BadWorkflowTest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadWorkflowTest, is_refused_with_its_place) {
  EXPECT_TRUE(fault_of(with(GetParam().steps)).starts_with(GetParam().fault))
      << fault_of(with(GetParam().steps));
}

INSTANTIATE_TEST_SUITE_P(
    Steps, BadWorkflowTest,
    ::testing::Values(
        Bad{"", "E_SHAPE workflow.steps: must be a list"}, Bad{"7", "E_SHAPE steps[0]"},
        Bad{R"({"tool":"t.a"})", "E_SHAPE steps[0].name"},
        Bad{R"({"name":"A b","tool":"t.a"})", "E_SHAPE steps[0].name"},
        Bad{R"({"name":"a","tool":"a"})", "E_SHAPE steps.a.tool"},
        Bad{R"({"name":"a","tool":"flow.a"})", "E_SHAPE steps.a.tool: a workflow cannot be"},
        Bad{R"({"name":"a","tool":"t.a","wiht":1})", "E_SHAPE steps.a.wiht: no such member"},
        Bad{R"({"name":"a","tool":"t.a"},{"name":"a","tool":"t.b"})",
            "E_SHAPE steps.a: two steps of one name"},
        Bad{R"({"name":"a","tool":"t.a","after":["b"]})",
            "E_SHAPE steps.a.after: there is no step b"},
        Bad{R"({"name":"a","tool":"t.a","args":{"x":{"$from":"/steps/b/content"}}})",
            "E_SHAPE steps.a.args/x: /steps/b/content: there is no step b"},
        Bad{R"({"name":"a","tool":"t.a"},{"name":"b","tool":"t.a","args":{"x":{"$from":"/steps/a/answer"}}})",
            "E_SHAPE steps.b.args/x: /steps/a/answer: leads to nothing"},
        Bad{R"({"name":"a","tool":"t.a","args":{"x":{"$from":"/input/n"}}})",
            "E_SHAPE steps.a.args/x: /input/n: this workflow has no input"},
        Bad{R"({"name":"a","tool":"t.a","args":{"x":{"$from":"steps"}}})",
            "E_SHAPE steps.a.args/x: steps"},
        Bad{R"({"name":"a","tool":"t.a","args":{"x":{"$from":"/steps/a~2/b"}}})",
            "E_SHAPE steps.a.args/x"},
        Bad{R"({"name":"a","tool":"t.a","args":{"x":{"$from":"/input","y":1}}})",
            R"(E_SHAPE steps.a.args/x: "$from" must stand alone)"},
        Bad{R"({"name":"a","tool":"t.a","args":{"x":{"$from":7}}})", "E_SHAPE steps.a.args/x"},
        Bad{R"({"name":"a","tool":"t.a","args":[]})", "E_SHAPE steps.a.args: must be an object"},
        Bad{R"({"name":"a","tool":"t.a","args":{"$from":"/input"}})",
            "E_SHAPE steps.a.args: must have"},
        Bad{R"({"name":"a","tool":"t.a","after":["a"]})",
            "E_SHAPE steps: these wait for each other: a"},
        Bad{R"({"name":"a","tool":"t.a","after":["c"]},{"name":"b","tool":"t.a","args":{"x":{"$from":"/steps/a"}}},
               {"name":"c","tool":"t.a","if":{"from":"/steps/b/status","equals":1}},{"name":"d","tool":"t.a"})",
            "E_SHAPE steps: these wait for each other: a, b, c"},
        Bad{R"({"name":"a","tool":"t.a","if":{"from":"/input"}})",
            "E_SHAPE steps.a.if: must have from"},
        Bad{R"({"name":"a","tool":"t.a","if":{"from":"/input","less":"3"}})", "E_SHAPE steps.a.if"},
        Bad{R"({"name":"a","tool":"t.a","if":{"from":"/input","exists":3}})", "E_SHAPE steps.a.if"},
        Bad{R"({"name":"a","tool":"t.a","if":{"from":"/steps/b","equals":3}})",
            "E_SHAPE steps.a.if: /steps/b"},
        Bad{R"({"name":"a","tool":"t.a","if":[]})", "E_SHAPE steps.a.if: must hold 1 to 16"},
        Bad{R"({"name":"a","tool":"t.a","retry":{"attempts":1}})",
            "E_SHAPE steps.a.retry.attempts"},
        Bad{R"({"name":"a","tool":"t.a","retry":{"attempts":11}})",
            "E_SHAPE steps.a.retry.attempts"},
        Bad{R"({"name":"a","tool":"t.a","timeout_ms":0})", "E_SHAPE steps.a.timeout_ms"},
        Bad{R"({"name":"a","tool":"t.a","undo":{"tool":"t.b","undo":{}}})",
            "E_SHAPE steps.a.undo.undo"},
        Bad{R"({"name":"a","tool":"t.a","undo":{"tool":"t.b","args":{"x":{"$from":"/steps/z"}}}})",
            "E_SHAPE steps.a.undo.args/x: /steps/z: there is no step z"}));

TEST(DefinitionTest, its_bounds_are_those_of_the_operator) {
  std::string one = R"({"name":"a","tool":"t.a"})";
  EXPECT_EQ(fault_of(with(one + R"(,{"name":"b","tool":"t.a"})"), {.steps = 1}),
            "E_LIMIT workflow.steps: over 1 steps");
  EXPECT_EQ(fault_of(with(one, R"(,"parallel":9)")), "E_SHAPE workflow.parallel: must be 1 to 8");
  EXPECT_EQ(fault_of(with(one, R"(,"time_ms":3600001)")),
            "E_SHAPE workflow.time_ms: must be 1 to 3600000");
  EXPECT_EQ(fault_of(R"({"steps":[]})"), "E_SHAPE workflow.workflow: must be 1");
  EXPECT_EQ(fault_of(with(one, R"(,"output":{"x":{"$from":"/steps/b"}})")),
            "E_SHAPE workflow.output/x: /steps/b: there is no step b");
}

TEST(ConditionTest, what_cannot_be_told_is_an_error_and_not_a_no) {
  auto document = *json::parse(R"({"steps":{"a":{"n":3,"t":"x","o":null}}})");
  auto holds = [&](std::string_view pointer, Condition::Test test, json::Value operand) {
    Condition one{*Reference::parse(pointer), test, std::move(operand)};
    auto told = one.holds(document);
    return told ? (*told ? "yes" : "no") : "cannot tell";
  };
  using enum Condition::Test;
  EXPECT_STREQ(holds("/steps/a/n", kEquals, 3), "yes");
  EXPECT_STREQ(holds("/steps/a/n", kNotEquals, 3), "no");
  EXPECT_STREQ(holds("/steps/a/n", kLess, 3), "no");
  EXPECT_STREQ(holds("/steps/a/n", kLess, 3.5), "yes");
  EXPECT_STREQ(holds("/steps/a/n", kGreater, 2), "yes");
  EXPECT_STREQ(holds("/steps/a/t", kGreater, 2), "cannot tell");
  EXPECT_STREQ(holds("/steps/a/none", kEquals, 2), "cannot tell");
  EXPECT_STREQ(holds("/steps/a/none", kExists, false), "yes");
  EXPECT_STREQ(holds("/steps/a/o", kExists, true), "yes");
}

// Two tools whose schemas are known, and what a workflow may make of them.
class ToolCheckTest : public ::testing::Test {
 protected:
  std::string fault_of(std::string_view steps, std::string_view scopes = "tool:invoke:t.*",
                       std::string_view more = "") {
    auto read = read_workflow(object(with(steps, more)), {});
    if (!read) return read.error().message;
    auto checked = check_tools(*read, *Scopes::parse(scopes),
                               [](const std::string& tool) { return find(tool); });
    return checked ? "" : std::string(name(checked.error().code)) + " " + checked.error().message;
  }
  static Outcome<json::Object> find(const std::string& tool) {
    if (tool == "t.count") {
      return object(
          R"({"inputSchema":{"type":"object","properties":{"text":{"type":"string","minLength":2},
          "n":{"type":"integer"},"list":{"type":"array","items":{"type":"string"}}},"required":["text"],
          "additionalProperties":false},
          "outputSchema":{"type":"object","properties":{"n":{"type":"integer"},"word":{"type":"string"},
          "rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"boolean"}}}}},
          "additionalProperties":false},"annotations":{"idempotentHint":true,"readOnlyHint":false}})");
    }
    if (tool == "t.dynamic") {
      return object(
          R"({"inputSchema":{"type":"object","properties":{"n":{}},"$dynamicRef":"#whole","$defs":{"w":{
          "$dynamicAnchor":"whole","properties":{"n":{"type":"integer"}}}}},"annotations":{}})");
    }
    if (tool == "t.free") {
      return object(
          R"({"inputSchema":{"type":"object"},"annotations":{"idempotentHint":false,"readOnlyHint":false}})");
    }
    return refuse(Code::kTool, "no such tool");
  }
};

TEST_F(ToolCheckTest, what_fits_passes_and_so_does_what_is_not_known) {
  EXPECT_EQ(
      fault_of(R"({"name":"a","tool":"t.count","args":{"text":"hello"},"retry":{"attempts":2}},
      {"name":"b","tool":"t.count","args":{"text":{"$from":"/steps/a/structured/word"},
       "n":{"$from":"/steps/a/structured/n"},"list":[{"$from":"/steps/a/status"}]}},
      {"name":"c","tool":"t.free","args":{"anything":{"$from":"/steps/a/structured/rows/0/id"}}},
      {"name":"d","tool":"t.count","args":{"text":{"$from":"/steps/c/structured/what/ever"}}},
      {"name":"e","tool":"t.dynamic","args":{"n":{"$from":"/steps/a/structured/n"}}})"),
      "");
}

TEST_F(ToolCheckTest, each_fault_is_found_before_anything_runs) {
  std::string a = R"({"name":"a","tool":"t.count","args":{"text":"hello"}},)";
  auto b = [&](std::string_view args) {
    return fault_of(a + R"({"name":"b","tool":"t.count","args":)" + std::string(args) + "}");
  };
  EXPECT_EQ(fault_of(R"({"name":"a","tool":"t.none"})"),
            "E_TOOL steps.a.tool: t.none: no such tool");
  EXPECT_EQ(fault_of(R"({"name":"a","tool":"t.count","args":{"text":"ab"}})", "tool:describe:t.*"),
            "E_SCOPE steps.a.tool: needs the scope tool:invoke:t.count");
  EXPECT_EQ(fault_of(R"({"name":"a","tool":"t.free","undo":{"tool":"t.none"}})"),
            "E_TOOL steps.a.undo.tool: t.none: no such tool");
  EXPECT_TRUE(fault_of(R"({"name":"a","tool":"t.free","retry":{"attempts":2}})")
                  .starts_with("E_SHAPE steps.a.retry: t.free does not say"));
  EXPECT_TRUE(b("{}").starts_with("E_SHAPE steps.b.args")) << b("{}");
  EXPECT_TRUE(fault_of(R"({"name":"a","tool":"t.dynamic","args":{"n":"x"}})")
                  .starts_with("E_SHAPE steps.a.args.n"));
  EXPECT_TRUE(b(R"({"text":"x"})").starts_with("E_SHAPE steps.b.args.text"))
      << b(R"({"text":"x"})");
  EXPECT_TRUE(b(R"({"n":{"$from":"/steps/a/structured/n"}})").starts_with("E_SHAPE steps.b.args"));
  EXPECT_TRUE(b(R"({"text":"ab","more":{"$from":"/steps/a/structured/n"}})")
                  .starts_with(R"(E_SHAPE steps.b.args/more: there is no member "more")"));
  EXPECT_TRUE(
      b(R"({"text":{"$from":"/steps/a/structured/n"}})")
          .starts_with(
              "E_SHAPE steps.b.args/text: /steps/a/structured/n gives integer, and string"));
  EXPECT_TRUE(
      b(R"({"text":{"$from":"/steps/a/structured/m"}})")
          .starts_with("E_SHAPE steps.b.args/text: /steps/a/structured/m leads to nothing"));
  EXPECT_TRUE(b(R"({"text":{"$from":"/steps/a/structured/rows/0/id"}})").contains("gives boolean"));
  EXPECT_TRUE(
      b(R"({"text":{"$from":"/steps/a/structured/rows/first"}})").contains("no place in a list"));
  EXPECT_TRUE(b(R"({"text":{"$from":"/steps/a/is_error"}})").contains("gives boolean"));
  EXPECT_TRUE(b(R"({"text":"ab","list":[{"$from":"/steps/a/structured/n"}]})").contains("list/0"));
}

TEST_F(ToolCheckTest, the_input_is_what_the_workflow_says) {
  auto read = read_workflow(object(with(R"({"name":"a","tool":"t.free"})",
                                        R"(,"input":{"type":"object","required":["n"]})")),
                            {});
  EXPECT_TRUE(check_input(*read, object(R"({"n":1})")));
  EXPECT_FALSE(check_input(*read, object("{}")));
  EXPECT_FALSE(check_input(*read, nullptr));
  auto none = read_workflow(object(with(R"({"name":"a","tool":"t.free"})")), {});
  EXPECT_TRUE(check_input(*none, nullptr));
  EXPECT_FALSE(check_input(*none, object(R"({"n":1})")));
}

}  // namespace
}  // namespace tool::workflow

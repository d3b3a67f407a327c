// Three tools in place of many, on a real pipeline with a real trail.

#include "toolserver/mcp_ingress/few_tools.h"

#include <fmt/format.h>

#include <random>

#include "toolserver/mcp_ingress/dispatcher.h"
#include "toolserver/mcp_ingress/pipeline_tools.h"
#include "toolserver/pipeline/fixture_test.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;
using pipeline::testing::alice;
using pipeline::testing::capability;
using pipeline::testing::object;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SilentClient final : public ClientSide {
 public:
  void tell(mcp::Notification) override {}
  [[nodiscard]] bool can_be_asked() const override { return false; }
  [[nodiscard]] base::Task<Outcome<json::Object>> ask(json::Object) override {
    co_return refuse(Code::kConsent, "nobody is there");
  }
};

std::int64_t number_in(const json::Object& args) {
  const auto* n = args.if_contains("n");
  return n != nullptr && n->is_int64() ? n->get_int64() : 0;
}

class UnluckyNumbers final : public pipeline::GuardStage {
 public:
  [[nodiscard]] base::Task<pipeline::GuardDecision> judge(const Invocation& call,
                                                          const Capability&) override {
    pipeline::GuardDecision decision;
    bool is_bad = number_in(call.args) % 5 == 3;
    decision.verdict = is_bad ? pipeline::Verdict::kDenied : pipeline::Verdict::kAllowed;
    decision.reason = is_bad ? "an unlucky number" : "";
    co_return decision;
  }
};

base::Task<Outcome<pipeline::ConsentAnswer>> answer(pipeline::ConsentDecision decision) {
  co_return pipeline::ConsentAnswer{decision, "somebody", pipeline::ConsentScope::kOnce};
}

base::Task<Outcome<ToolResult>> say_number(Approved<Invocation> call) {
  if (number_in(call->args) == 7) co_return refuse(Code::kUpstream, "seven is too much");
  ToolResult result = pipeline::testing::text_result(fmt::format("n is {}", number_in(call->args)));
  result.structured = json::Object{{"n", number_in(call->args)}};
  result.is_error = number_in(call->args) == 9;
  co_return result;
}

struct Said {
  std::string text;  ///< All of the reply.
  json::Object result;
  std::string code;  ///< "" when it is a result.
};

class FewToolsTest : public pipeline::testing::PipelineTest {
 protected:
  FewToolsTest() { options_.rate = {.calls_per_second = 1e6, .burst = 1e6, .refusals = 1e6}; }

  void offer(std::vector<Capability> tools, const pipeline::Trust& trust = {}) {
    add(std::move(tools), trust)->invoke_with = [](Approved<Invocation> call, Progress) {
      return say_number(std::move(call));
    };
  }

  Said say(ToolsWanted wanted, std::string method, json::Object params, Principal caller) {
    if (!few_) {
      tools_.emplace(pipeline(), *audit_, clock_, random_, Mode::kBasic, bare_);
      few_.emplace(*tools_, above_);
      dispatcher_.emplace(DispatchOptions{}, *few_, Providers{}, states_);
    }
    auto call = std::make_shared<Call>();
    call->request.id = std::int64_t{1};
    call->request.method = std::move(method);
    call->request.params = std::move(params);
    call->caller = std::make_shared<const Principal>(std::move(caller));
    call->peer = "127.0.0.1";
    call->wanted = wanted;
    call->side = std::make_shared<SilentClient>();
    Reply reply = pipeline::testing::run_on(loop_, dispatcher_->run(std::move(call)));
    Said said;
    if (!reply.body) {
      const auto& data = reply.body.error().data;
      said.code = data ? std::string(data->at("code").as_string()) : "no code";
    }
    said.text = fmt::format("{} {} ", reply.status, reply.wanted_scope);
    std::string written = write_reply(std::int64_t{1}, std::move(reply));
    auto message = object(written);
    if (auto* result = message.if_contains("result")) said.result = result->as_object();
    said.text += written;
    return said;
  }
  Said call(ToolsWanted wanted, std::string_view tool, json::Object arguments,
            const Principal& caller = alice("tool:invoke:t.*")) {
    return say(wanted, "tools/call", {{"name", tool}, {"arguments", std::move(arguments)}}, caller);
  }
  std::vector<std::string> listed(ToolsWanted wanted,
                                  const Principal& caller = alice("tool:invoke:t.*")) {
    std::vector<std::string> names;
    for (const auto& tool : say(wanted, "tools/list", {}, caller).result.at("tools").as_array()) {
      names.emplace_back(tool.at("name").as_string());
    }
    return names;
  }
  // The JSON that search and describe answer as text.
  static json::Object told(const Said& said) {
    EXPECT_EQ(said.code, "") << said.text;
    return object(said.result.at("content").as_array().at(0).at("text").as_string());
  }
  std::vector<std::string> found(std::string_view query,
                                 const Principal& caller = alice("tool:invoke:t.*")) {
    std::vector<std::string> names;
    auto answer = told(call(ToolsWanted::kSearch, "search", {{"query", query}}, caller));
    for (const auto& tool : answer.at("tools").as_array()) {
      names.emplace_back(tool.at("name").as_string());
    }
    return names;
  }

  std::string bare_;
  std::size_t above_ = 0;
  RequestStates states_{clock_, random_};
  std::optional<PipelineTools> tools_;
  std::optional<FewTools> few_;
  std::optional<Dispatcher> dispatcher_;
};

TEST_F(FewToolsTest, are_given_to_who_asks_for_them) {
  offer({capability("t.one"), capability("t.two")});
  EXPECT_THAT(listed(ToolsWanted::kSearch), ElementsAre("search", "describe", "execute"));
  EXPECT_THAT(listed(ToolsWanted::kAll), ElementsAre("t.one", "t.two"));
  EXPECT_THAT(listed(ToolsWanted::kDefault), ElementsAre("t.one", "t.two"));
  EXPECT_EQ(call(ToolsWanted::kDefault, "execute", {{"tool", "t.one"}}).code, "E_TOOL");
}

TEST_F(FewToolsTest, are_given_to_who_may_see_more_than_the_configuration_says) {
  above_ = 1;
  offer({capability("t.one"), capability("t.two")});
  EXPECT_THAT(listed(ToolsWanted::kDefault), ElementsAre("search", "describe", "execute"));
  EXPECT_THAT(listed(ToolsWanted::kAll), ElementsAre("t.one", "t.two"));
  EXPECT_EQ(call(ToolsWanted::kDefault, "execute", {{"tool", "t.one"}}).code, "");
  auto one_only = alice("tool:invoke:t.one");
  EXPECT_THAT(listed(ToolsWanted::kDefault, one_only), ElementsAre("t.one"));
  EXPECT_EQ(call(ToolsWanted::kDefault, "execute", {{"tool", "t.one"}}, one_only).code, "E_TOOL");
}

TEST_F(FewToolsTest, find_and_describe_only_what_the_caller_may_see) {
  Capability foreign = capability("f.mail");
  foreign.origin = OriginKind::kBridge;
  Capability strict = capability("s.mail");
  strict.min_mode = Mode::kEnterprise;
  offer({capability("t.mail"), capability("t.file")});
  offer({capability("u.mail")});
  offer({foreign});
  offer({strict});
  auto all = alice("tool:invoke:t.* tool:describe:u.mail tool:invoke:f.* tool:invoke:s.*");
  EXPECT_THAT(found("mail", all), ElementsAre("t.mail", "u.mail"));
  EXPECT_THAT(found("mail", alice("tool:invoke:t.file")), IsEmpty());
  EXPECT_THAT(found("mail"), ElementsAre("t.mail"));
  for (const char* unseen : {"f.mail", "s.mail", "u.mail", "t.none", "no tool"}) {
    auto refused = call(ToolsWanted::kSearch, "describe", {{"tool", unseen}});
    EXPECT_EQ(refused.code, "E_TOOL") << unseen;
    EXPECT_EQ(refused.text, call(ToolsWanted::kSearch, "describe", {{"tool", "t.zero"}}).text);
  }
  auto shown = told(call(ToolsWanted::kSearch, "describe", {{"tool", "t.mail"}}));
  auto list = say(ToolsWanted::kAll, "tools/list", {}, alice("tool:invoke:t.mail"));
  EXPECT_EQ(json::Value(shown), list.result.at("tools").as_array().at(0));
}

TEST_F(FewToolsTest, say_what_a_model_needs_to_choose) {
  Capability one = capability("t.send");
  one.description = "Sends mail " + std::string(200, 'x');
  one.input_schema = object(R"({"type":"object","required":["to"],
      "properties":{"to":{"type":"string"},"copy":{"type":"string"}}})");
  offer({one});
  auto tool = told(call(ToolsWanted::kSearch, "search", {{"query", "send"}}))
                  .at("tools")
                  .as_array()
                  .at(0)
                  .as_object();
  EXPECT_EQ(tool.at("arguments").as_string(), "to, copy?");
  EXPECT_EQ(tool.at("description").as_string().size(), FewTools::kDescriptionBytes + 3);
  auto nothing = told(call(ToolsWanted::kSearch, "search", {{"query", "zygote"}}));
  EXPECT_EQ(json::write(nothing), R"({"namespaces":["t"],"tools":[]})");
}

TEST_F(FewToolsTest, find_what_came_after_the_last_search_and_not_what_has_gone) {
  offer({capability("t.mail")});
  auto all = alice("tool:invoke:t.* tool:invoke:u.*");
  EXPECT_THAT(found("mail", all), ElementsAre("t.mail"));
  auto more = add({capability("u.mail")});
  EXPECT_THAT(found("mail", all), ElementsAre("t.mail", "u.mail"));
  registry_.remove(*more);
  EXPECT_THAT(found("mail", all), ElementsAre("t.mail"));
  EXPECT_EQ(call(ToolsWanted::kSearch, "describe", {{"tool", "u.mail"}}, all).code, "E_TOOL");
}

TEST_F(FewToolsTest, refuse_arguments_that_break_their_rules) {
  offer({capability("t.one")});
  struct Case {
    const char* tool;
    json::Object arguments;
    const char* rule;
  };
  std::string long_text(600, 'x');
  for (auto& [tool, arguments, rule] :
       std::vector<Case>{{"search", {}, "args.query"},
                         {"search", {{"query", ""}}, "args.query: must have 1 to 512 bytes"},
                         {"search", {{"query", 7}}, "args.query"},
                         {"search", {{"query", long_text}}, "args.query: must have 1 to 512 bytes"},
                         {"search", {{"query", "x"}, {"limit", 0}}, "args.limit: must be 1 to 20"},
                         {"search", {{"query", "x"}, {"limit", 21}}, "args.limit: must be 1 to 20"},
                         {"search", {{"query", "x"}, {"more", 1}}, "args: has a member"},
                         {"describe", {}, "args.tool"},
                         {"describe", {{"tool", long_text}}, "args.tool: must have 1 to 256 bytes"},
                         {"describe", {{"tool", "t.one"}, {"x", 1}}, "args: has a member"},
                         {"execute", {}, "args.tool"},
                         {"execute", {{"tool", ""}}, "args.tool: must have 1 to 256 bytes"},
                         {"execute",
                          {{"tool", "t.one"}, {"arguments", "{}"}},
                          "args.arguments: must be an object"},
                         {"execute", {{"tool", "t.one"}, {"n", 1}}, "args: has a member"}}) {
    auto refused = call(ToolsWanted::kSearch, tool, arguments);
    EXPECT_TRUE(refused.result.contains("isError")) << tool << json::write(arguments);
    EXPECT_NE(refused.text.find(rule), std::string::npos) << refused.text;
  }
  EXPECT_THAT(records("seal"), IsEmpty());
}

TEST_F(FewToolsTest, cost_what_a_request_costs) {
  options_.rate = {.calls_per_second = 0.001, .burst = 3, .refusals = 100};
  offer({capability("t.one")});
  EXPECT_EQ(call(ToolsWanted::kSearch, "search", {{"query", "one"}}).code, "");
  EXPECT_EQ(call(ToolsWanted::kSearch, "describe", {{"tool", "t.one"}}).code, "");
  EXPECT_TRUE(call(ToolsWanted::kSearch, "execute", {}).result.contains("isError"));
  for (const char* tool : {"search", "describe", "execute"}) {
    EXPECT_EQ(call(ToolsWanted::kSearch, tool, {{"query", "one"}}).code, "E_RATE") << tool;
  }
}

TEST_F(FewToolsTest, leave_tools_of_the_same_names_within_reach) {
  bare_ = "t";
  offer({capability("t.search"), capability("t.execute")});
  EXPECT_EQ(told(call(ToolsWanted::kSearch, "search", {{"query", "execute"}}))
                .at("tools")
                .as_array()
                .at(0)
                .at("name")
                .as_string(),
            "execute");
  auto named =
      call(ToolsWanted::kSearch, "execute", {{"tool", "search"}, {"arguments", {{"n", 1}}}});
  EXPECT_EQ(named.result.at("content").as_array().at(0).at("text").as_string(), "n is 1");
  EXPECT_EQ(last_seal().at("tool").as_string(), "t.search");
  EXPECT_EQ(call(ToolsWanted::kSearch, "t.execute", {{"n", 2}}).code, "");
  EXPECT_EQ(last_seal().at("tool").as_string(), "t.execute");
}

// What two calls that are the same differ in.
std::string without_marks(json::Object record) {
  record.erase("open");  // Where the tool was to run: the line before it did.
  for (const char* mark : {"seq", "ts", "rid", "prev", "hash", "timing"}) {
    EXPECT_EQ(record.erase(mark), 1U) << mark;
  }
  return json::write(record);
}

class SameCallTest : public FewToolsTest {
 protected:
  SameCallTest() {
    parts_->guard = std::make_shared<UnluckyNumbers>();
    parts_->consent = std::make_shared<pipeline::ConsentFunction>(
        [](base::RequestContext, const pipeline::ConsentQuestion& question) {
          bool is_even = question.args_preview.contains('2');
          return answer(is_even ? pipeline::ConsentDecision::kApprove
                                : pipeline::ConsentDecision::kDeny);
        });
    Capability careful = capability("t.careful");
    careful.consent = ConsentRule::kAlways;
    Capability later = capability("t.later");
    later.min_mode = Mode::kEnterprise;
    Capability strict = capability("t.strict");
    strict.input_schema["required"] = json::Array{"n"};
    Capability foreign = capability("f.new");
    foreign.origin = OriginKind::kBridge;
    offer({capability("t.free"), careful, later, strict});
    offer({foreign});
  }

  Principal somebody(int i) {
    static constexpr std::array kScopes{"tool:invoke:t.*",
                                        "tool:invoke:t.free",
                                        "tool:describe:t.free",
                                        "tool:invoke:t.careful",
                                        "tool:invoke:f.*",
                                        "tool:describe:t.strict",
                                        "cap:list",
                                        "tool:invoke:t.strict"};
    std::string scopes;
    for (const char* scope : kScopes) {
      if (dice_() % 3 == 0) scopes += (scopes.empty() ? "" : " ") + std::string(scope);
    }
    Principal principal = alice(scopes.empty() ? "cap:list" : scopes);
    principal.subject = fmt::format("p{}", i);
    if (dice_() % 20 == 0) principal.expires_at = clock_.now() - std::chrono::seconds(1);
    return principal;
  }
  std::string some_tool() {
    static constexpr std::array kTools{"t.free", "t.free",   "t.careful", "t.strict", "t.later",
                                       "f.new",  "t.strict", "t.missing", "x.none",   "No Tool"};
    return kTools.at(dice_() % kTools.size());
  }
  json::Object some_arguments() {
    switch (dice_() % 8) {
      case 0: return {};
      case 1: return {{"n", "text"}};
      case 2: return {{"n", 1}, {"more", true}};
      default: return {{"n", static_cast<std::int64_t>(dice_() % 12)}};
    }
  }

  std::mt19937 dice_{20'261'126};  // NOLINT: the same calls each time.
};

TEST_F(SameCallTest, has_the_same_answer_and_the_same_record_through_execute) {
  constexpr int kCalls = 400;
  std::map<std::string, int> decisions;
  for (int i = 0; i < kCalls; ++i) {
    Principal caller = somebody(i);
    std::string name = some_tool();
    json::Object arguments = some_arguments();
    auto direct = call(ToolsWanted::kAll, name, arguments, caller);
    json::Object wrapped{{"tool", name}, {"arguments", arguments}};
    auto through = call(ToolsWanted::kSearch, "execute", wrapped, caller);
    EXPECT_EQ(direct.text, through.text) << name << json::write(arguments);
  }
  auto seals = records("seal");
  ASSERT_EQ(seals.size(), 2U * kCalls);
  for (std::size_t i = 0; i < seals.size(); i += 2) {
    EXPECT_EQ(without_marks(seals[i]), without_marks(seals[i + 1]));
    ++decisions[json::write(seals[i].at("decision"))];
  }
  std::string all;
  for (const auto& [decision, count] : decisions) all += fmt::format("{}: {}\n", decision, count);
  fmt::print("{}", all);
  // Neither all of one kind nor of the other.
  EXPECT_GE(decisions.size(), 6U) << all;
}

TEST_F(SameCallTest, names_the_scope_of_the_tool_and_not_its_own) {
  auto caller = alice("tool:describe:t.free");
  auto direct = call(ToolsWanted::kAll, "t.free", {{"n", 1}}, caller);
  auto through = call(ToolsWanted::kSearch, "execute",
                      {{"tool", "t.free"}, {"arguments", {{"n", 1}}}}, caller);
  EXPECT_EQ(through.code, "E_SCOPE");
  EXPECT_TRUE(through.text.starts_with("403 tool:invoke:t.free ")) << through.text;
  EXPECT_EQ(direct.text, through.text);
}

}  // namespace
}  // namespace tool::mcp_ingress

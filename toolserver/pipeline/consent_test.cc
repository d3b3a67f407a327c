#include "toolserver/pipeline/consent.h"

#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <stdexcept>

#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

using testing::call_of;
using testing::capability;
using testing::change_principal;
using testing::PipelineTest;

class ConsentTest : public PipelineTest {
 protected:
  // A tool of the rule, and a hook that gives `answer_`.
  void start(ConsentRule rule) {
    Capability tool = capability("t.a");
    tool.consent = rule;
    tool.session_consent = session_scope_;
    tool.input_schema = testing::object(R"({"type":"object"})");
    connector_ = add({tool});
    parts_->consent = std::make_shared<ConsentFunction>(
        [this](base::RequestContext, ConsentQuestion question) { return answer(question); });
  }
  base::Task<Outcome<ConsentAnswer>> answer(ConsentQuestion question) {
    ++asked_;
    question_ = std::move(question);
    co_return answer_;
  }
  std::string_view call(std::string_view args = "{}", std::string session = "s-1",
                        std::string subject = "alice") {
    PipelineCall one = call_of("t.a", args);
    one.session_id = std::move(session);
    change_principal(one, [&](Principal& caller) { caller.subject = subject; });
    return code_of(std::move(one));
  }

  std::shared_ptr<testing::TestConnector> connector_;
  std::atomic<int> asked_ = 0;
  bool session_scope_ = true;
  ConsentQuestion question_;
  Outcome<ConsentAnswer> answer_ = ConsentAnswer{ConsentDecision::kApprove, "bob"};
};

TEST_F(ConsentTest, the_rule_and_the_scope_decide_who_is_asked_again) {
  struct Case {
    ConsentRule rule;
    ConsentScope scope;
    int asked_for_two_equal_calls;
    int asked_with_other_arguments;
    int asked_in_another_session;
    int asked_for_another_principal;
  };
  for (const Case& c : std::initializer_list<Case>{
           {ConsentRule::kNever, ConsentScope::kOnce, 0, 0, 0, 0},
           {ConsentRule::kFirst, ConsentScope::kOnce, 2, 3, 4, 5},
           {ConsentRule::kFirst, ConsentScope::kSession, 1, 1, 2, 3},
           {ConsentRule::kFirst, ConsentScope::kArgsHash, 1, 2, 2, 3},
           {ConsentRule::kAlways, ConsentScope::kOnce, 2, 3, 4, 5},
           {ConsentRule::kAlways, ConsentScope::kSession, 2, 3, 4, 5},
           {ConsentRule::kAlways, ConsentScope::kArgsHash, 2, 3, 4, 5},
       }) {
    if (connector_) registry_.remove(*connector_);
    asked_ = 0;
    pipeline_.reset();
    start(c.rule);
    answer_->scope = c.scope;
    std::string name = fmt::format("{} {}", static_cast<int>(c.rule), static_cast<int>(c.scope));
    EXPECT_EQ(call(), "ok") << name;
    EXPECT_EQ(call(), "ok") << name;
    EXPECT_EQ(asked_, c.asked_for_two_equal_calls) << name;
    EXPECT_EQ(call(R"({"n":1})"), "ok") << name;
    EXPECT_EQ(asked_, c.asked_with_other_arguments) << name;
    EXPECT_EQ(call("{}", "s-2"), "ok") << name;
    EXPECT_EQ(asked_, c.asked_in_another_session) << name;
    EXPECT_EQ(call("{}", "s-1", "mallory"), "ok") << name;
    EXPECT_EQ(asked_, c.asked_for_another_principal) << name;
  }
}

TEST_F(ConsentTest, only_a_yes_is_a_yes) {
  start(ConsentRule::kAlways);
  struct Case {
    const char* name;
    Outcome<ConsentAnswer> answer;
    std::string_view code;
    std::string_view note;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"approve", ConsentAnswer{ConsentDecision::kApprove, "bob"}, "ok",
            "approved for once by bob"},
           {"deny", ConsentAnswer{ConsentDecision::kDeny, "bob"}, "E_CONSENT", "denied by bob"},
           {"timeout", ConsentAnswer{ConsentDecision::kTimeout, "bob"}, "E_CONSENT",
            "timeout of bob"},
           {"fault", refuse(Code::kUpstream, "away"), "E_CONSENT", "no answer (E_UPSTREAM)"},
       }) {
    answer_ = c.answer;
    EXPECT_EQ(call(), c.code) << c.name;
    EXPECT_EQ(last_seal().at("consent").as_string(), c.note) << c.name;
  }
  EXPECT_EQ(connector_->invoked, 1);
}

TEST_F(ConsentTest, a_refusal_is_not_remembered) {
  start(ConsentRule::kFirst);
  answer_ = ConsentAnswer{ConsentDecision::kDeny, "bob", ConsentScope::kSession};
  EXPECT_EQ(call(), "E_CONSENT");
  EXPECT_EQ(call(), "E_CONSENT");
  EXPECT_EQ(asked_, 2);
  answer_ = ConsentAnswer{ConsentDecision::kApprove, "bob", ConsentScope::kSession};
  EXPECT_EQ(call(), "ok");
}

TEST_F(ConsentTest, an_approval_ends_with_its_time_and_with_a_change_of_the_tool) {
  start(ConsentRule::kFirst);
  answer_->scope = ConsentScope::kSession;
  EXPECT_EQ(call(), "ok");
  EXPECT_EQ(call(), "ok");
  EXPECT_EQ(asked_, 1);
  registry_.remove(*connector_);
  Capability changed = capability("t.a");
  changed.consent = ConsentRule::kFirst;
  changed.session_consent = true;
  changed.description += " And more.";
  add({changed});
  EXPECT_EQ(call(), "ok");
  EXPECT_EQ(asked_, 2);
  auto late = call_of("t.a");
  clock_.micros += std::chrono::microseconds(std::chrono::hours(12)).count();
  change_principal(
      late, [&](Principal& caller) { caller.expires_at = clock_.now() + std::chrono::hours(1); });
  EXPECT_EQ(code_of(late), "ok");
  EXPECT_EQ(asked_, 3);
}

TEST_F(ConsentTest, a_full_memory_asks_again) {
  options_.consent.remembered = 1;
  start(ConsentRule::kFirst);
  answer_->scope = ConsentScope::kSession;
  EXPECT_EQ(call("{}", "s-1"), "ok");
  EXPECT_EQ(call("{}", "s-2"), "ok");
  EXPECT_EQ(call("{}", "s-1"), "ok");
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(call("{}", "s-2"), "ok");
  EXPECT_EQ(asked_, 3);
}

TEST_F(ConsentTest, nobody_to_ask_means_no) {
  start(ConsentRule::kFirst);
  parts_->consent = nullptr;
  EXPECT_EQ(call(), "E_CONSENT");
  EXPECT_EQ(connector_->invoked, 0);
}

TEST_F(ConsentTest, a_hook_that_does_not_answer_means_no) {
  options_.consent.timeout = std::chrono::milliseconds(20);
  start(ConsentRule::kFirst);
  parts_->consent = std::make_shared<ConsentFunction>(
      [](base::RequestContext, ConsentQuestion) -> base::Task<Outcome<ConsentAnswer>> {
        boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor,
                                        std::chrono::steady_clock::time_point::max());
        co_await timer.async_wait(boost::asio::use_awaitable);
        co_return ConsentAnswer{ConsentDecision::kApprove, "late"};
      });
  EXPECT_EQ(call(), "E_CONSENT");
  parts_->consent = std::make_shared<ConsentFunction>(
      [](base::RequestContext, ConsentQuestion) -> base::Task<Outcome<ConsentAnswer>> {
        throw std::runtime_error("a defect");
        co_return ConsentAnswer{ConsentDecision::kApprove, "never"};
      });
  pipeline_.reset();
  EXPECT_EQ(call(), "E_CONSENT");
  EXPECT_EQ(connector_->invoked, 0);
}

TEST_F(ConsentTest, an_approval_for_the_session_needs_a_tool_that_has_it) {
  session_scope_ = false;
  start(ConsentRule::kFirst);
  answer_->scope = ConsentScope::kSession;
  EXPECT_EQ(call(), "ok");
  EXPECT_EQ(last_seal().at("consent").as_string(), "approved for once by bob");
  EXPECT_EQ(call(), "ok");
  EXPECT_EQ(asked_, 2);
  EXPECT_FALSE(question_.session_scope);
  answer_->scope = ConsentScope::kArgsHash;
  EXPECT_EQ(call(), "ok");
  EXPECT_EQ(call(), "ok");
  EXPECT_EQ(asked_, 3);
}

TEST_F(ConsentTest, a_hook_that_is_away_is_told_apart_from_a_no) {
  start(ConsentRule::kAlways);
  struct Case {
    Outcome<ConsentAnswer> answer;
    const char* message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {ConsentAnswer{ConsentDecision::kDeny, "bob"}, "the call was not agreed to"},
           {ConsentAnswer{ConsentDecision::kTimeout, "bob"}, "the call was not agreed to"},
           {refuse(Code::kUpstream, "no route to 10.0.0.7"),
            "the call needs consent, and the service that asks for it gave no answer"},
           {refuse(Code::kTimeout, "late"), "the call needs consent, and nobody answered in time"},
           {refuse(Code::kShape, "decision: no such value"),
            "the call needs consent, and what was answered is neither yes nor no"},
       }) {
    answer_ = c.answer;
    auto reply = ask(call_of("t.a"));
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Code::kConsent);
    EXPECT_EQ(reply.error().message, c.message);
  }
}

// Whoever calls chooses order, length and characters of the arguments.
TEST_F(ConsentTest, the_question_shows_every_argument_and_hides_no_character) {
  start(ConsentRule::kAlways);
  struct Case {
    const char* name;
    std::string args;
    std::string preview;
    bool truncated;
  };
  std::string many_a(2000, 'A');
  for (const Case& c : std::initializer_list<Case>{
           {"a long one first", R"({"content":")" + many_a + R"(","path":"notes/evil.txt"})",
            R"({"content":")" + std::string(199, 'A') +
                R"(...(+1,802 bytes),"path":"notes/evil.txt"})",
            true},
           {"the caller's order", R"({"z":1,"a":{"y":2,"b":3}})", R"({"a":{"b":3,"y":2},"z":1})",
            false},
           {"200 bytes", R"({"a":")" + std::string(198, 'x') + R"("})",
            R"({"a":")" + std::string(198, 'x') + R"("})", false},
           {"201 bytes", R"({"a":")" + std::string(199, 'x') + R"("})",
            R"({"a":")" + std::string(199, 'x') + R"(...(+1 bytes)})", true},
           {"a cut before a character", R"({"a":")" + std::string(198, 'x') + "\u00e4\"}",
            R"({"a":")" + std::string(198, 'x') + R"(...(+3 bytes)})", true},
           {"text that turns", "{\"path\":\"a\u202Etxt.exe\u2066\"}",
            R"({"path":"a\u202etxt.exe\u2066"})", false},
           {"no width", "{\"a\u200Bb\":\"x\u00ADy\uFEFF\u00A0\u007F\u0085\"}",
            R"({"a\u200bb":"x\u00ady\ufeff\u00a0\u007f\u0085"})", false},
           {"tags", "{\"a\":\"\U000E0041\"}", R"({"a":"\udb40\udc41"})", false},
           {"lines", R"({"a":"x\ny\u001b[2J"})", R"({"a":"x\ny\u001b[2J"})", false},
           {"other scripts", "{\"a\":\"\u00e4 \u65e5 \u05d0 \U0001F600\"}",
            "{\"a\":\"\u00e4 \u65e5 \u05d0 \U0001F600\"}", false},
           {"nothing", "{}", "{}", false},
       }) {
    EXPECT_EQ(call(c.args), "ok") << c.name;
    EXPECT_EQ(question_.args_preview, c.preview) << c.name;
    EXPECT_EQ(question_.truncated, c.truncated) << c.name;
    EXPECT_TRUE(question_.args_hash.starts_with("sha256:")) << c.name;
  }
  EXPECT_EQ(question_.bytes, 2u);
  std::string many = "{";
  for (int i = 0; i < 200; ++i) {
    many += fmt::format("{}\"{}\":\"{}\"", i == 0 ? "" : ",", i, std::string(200, 'x'));
  }
  int before = asked_;
  EXPECT_EQ(call(many + "}"), "E_LIMIT");
  EXPECT_EQ(asked_, before);
}

TEST_F(ConsentTest, the_question_tells_what_is_asked) {
  start(ConsentRule::kAlways);
  EXPECT_EQ(call(R"({"n":5})"), "ok");
  EXPECT_EQ(question_.request_id, "01JTEST");
  EXPECT_EQ(question_.principal, "alice");
  EXPECT_EQ(question_.tool, "t.a");
  EXPECT_EQ(question_.args_preview, R"({"n":5})");
  EXPECT_EQ(question_.risk, "high");
  EXPECT_EQ(question_.expires, clock_.now() + std::chrono::seconds(60));
}

}  // namespace
}  // namespace tool::pipeline

#include "toolserver/guard/policy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tool::guard {
namespace {

using base::ErrorKind;
using ::testing::HasSubstr;

base::json::Object object(std::string_view text) {
  auto parsed = base::json::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed->as_object();
}

base::Result<PolicyAnswer> parsed(std::string_view result, std::string_view rest = "") {
  return parse_policy_answer(object(fmt::format(R"({{"result":{}{}}})", result, rest)));
}

TEST(PolicyAnswer, an_effect_and_what_it_obliges_to) {
  struct Case {
    std::string_view result;
    Effect effect;
    bool asks_consent;
    bool quarantines;
  };
  for (const Case& c : {
           Case{R"({"effect":"allow"})", Effect::kAllow, false, false},
           Case{R"({"effect":"deny","reasons":["a"]})", Effect::kDeny, false, false},
           Case{R"({"effect":"consent"})", Effect::kConsent, true, false},
           Case{R"({"effect":"quarantine"})", Effect::kQuarantine, false, true},
           Case{R"({"effect":"allow","obligations":[{"type":"consent"}]})", Effect::kAllow, true,
                false},
           Case{R"({"effect":"deny","obligations":[{"type":"quarantine"}]})", Effect::kDeny, false,
                true},
           Case{R"({"effect":"allow","helper":[1],"obligations":[]})", Effect::kAllow, false,
                false},
       }) {
    auto answer = parsed(c.result);
    ASSERT_TRUE(answer.has_value()) << c.result << answer.error().message();
    EXPECT_EQ(answer->effect, c.effect) << c.result;
    EXPECT_EQ(answer->asks_consent, c.asks_consent) << c.result;
    EXPECT_EQ(answer->quarantines, c.quarantines) << c.result;
    EXPECT_TRUE(answer->is_kept) << c.result;
  }
}

TEST(PolicyAnswer, redactions_are_pointers_with_a_target) {
  auto answer = parsed(R"({"effect":"redact","obligations":[
      {"type":"redact","target":"result","pointers":["/structured/a","/content/0"]},
      {"type":"redact","target":"arguments","pointers":["/b"]},{"type":"no_store"}]})");
  ASSERT_TRUE(answer.has_value()) << answer.error().message();
  EXPECT_THAT(answer->redact.result, ::testing::ElementsAre("/structured/a", "/content/0"));
  EXPECT_THAT(answer->redact.arguments, ::testing::ElementsAre("/b"));
  EXPECT_FALSE(answer->is_kept);
}

TEST(PolicyAnswer, what_is_not_understood_whole_is_no_answer) {
  auto many = [](std::string_view item, std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += (i ? "," : "") + std::string(item);
    return out;
  };
  for (
      const std::string& result : std::initializer_list<std::string>{
          "{}",
          "null",
          "true",
          "\"allow\"",
          "[]",
          R"({"effect":"ALLOW"})",
          R"({"effect":true})",
          R"({"effect":"permit"})",
          R"({"allow":true})",
          R"({"effect":["allow"]})",
          R"({"effect":"redact"})",
          R"({"effect":"redact","obligations":[]})",
          R"({"effect":"allow","reasons":"text"})",
          R"({"effect":"allow","reasons":[1]})",
          R"({"effect":"allow","obligations":{}})",
          R"({"effect":"allow","obligations":[1]})",
          R"({"effect":"allow","obligations":[{"type":"notify"}]})",
          R"({"effect":"allow","obligations":[{}]})",
          R"({"effect":"allow","obligations":[{"type":"redact","pointers":["/a"]}]})",
          R"({"effect":"allow","obligations":[{"type":"redact","target":"x","pointers":["/a"]}]})",
          R"({"effect":"allow","obligations":[{"type":"redact","target":"result"}]})",
          R"({"effect":"allow","obligations":[{"type":"redact","target":"result","pointers":["a"]}]})",
          R"({"effect":"allow","obligations":[{"type":"redact","target":"result","pointers":[]}]})",
          R"({"effect":"allow","revision":7})",
          R"({"effect":"deny","reasons":[")" + std::string(kReasonBytes + 1, 'r') + "\"]}",
          R"({"effect":"deny","reasons":[)" + many("\"r\"", kReasons + 1) + "]}",
          R"({"effect":"allow","obligations":[)" +
              many(R"({"type":"no_store"})", kObligations + 1) + "]}",
          R"({"effect":"redact","obligations":[{"type":"redact","target":"result","pointers":[)" +
              many("\"/a\"", kPointers + 1) + "]}]}",
          R"({"effect":"allow","revision":")" + std::string(kRevisionBytes, 'r') + "\"}"}) {
    EXPECT_FALSE(parsed(result).has_value()) << result.substr(0, 200);
  }
  auto none = parse_policy_answer(object(R"({"decision_id":"1"})"));
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message(), HasSubstr("result: no policy answers"));
}

TEST(PolicyAnswer, the_revision_is_that_of_all_bundles_and_of_the_policy) {
  struct Case {
    std::string_view result;
    std::string_view rest;
    std::string_view revision;
  };
  for (const Case& c : {
           Case{R"({"effect":"allow"})", "", ""},
           Case{R"({"effect":"allow"})", R"(,"provenance":{"version":"1.22.0"})", ""},
           Case{R"({"effect":"allow","revision":"7"})", "", "policy=7"},
           Case{R"({"effect":"allow"})", R"(,"provenance":{"bundles":{"a":{"revision":"x"}}})",
                "a=x"},
           Case{R"({"effect":"allow","revision":"7"})",
                R"(,"provenance":{"bundles":{"a":{"revision":"x"},"b":{"revision":"y"}}})",
                "policy=7 a=x b=y"},
           Case{R"({"effect":"allow","revision":"7"})",
                R"(,"provenance":{"bundles":{"a":{"revision":"x"},"b":{"revision":""}}})", ""},
           Case{R"({"effect":"allow"})", R"(,"provenance":{"bundles":{"a":{}}})", ""},
       }) {
    auto answer = parsed(c.result, c.rest);
    ASSERT_TRUE(answer.has_value()) << answer.error().message();
    EXPECT_EQ(answer->revision, c.revision) << c.result << c.rest;
  }
}

TEST(PolicyAnswer, a_caller_is_told_codes_and_no_sentences) {
  EXPECT_EQ(told_reasons({"over_limit", "Only Bob may read /etc/shadow", "a.b-c", "X", "",
                          std::string(65, 'a')}),
            "over_limit, a.b-c");
  EXPECT_EQ(told_reasons({}), "");
}

class PolicyQuestion : public ::testing::Test {
 protected:
  PolicyQuestion() {
    call_.request_id = "01JA";
    call_.traceparent = "00-1-2-01";
    call_.session_id = "s-1";
    call_.args = object(R"({"n":1})");
    call_.args_hash = "sha256:1";
    call_.peer = "127.0.0.1";
    call_.principal = principal("alice");
  }
  static std::shared_ptr<const Principal> principal(std::string subject) {
    Principal one;
    one.subject = std::move(subject);
    return std::make_shared<const Principal>(one);
  }
  std::string question() {
    return base::json::write(policy_question(Phase::kPre, call_, capability_, nullptr));
  }
  Capability capability_{.id = *ToolId::parse("t.a")};
  Invocation call_{.tool = *ToolId::parse("t.a")};
};

TEST_F(PolicyQuestion, says_who_wants_what_of_which_tool) {
  auto input = policy_question(Phase::kPre, call_, capability_, nullptr).at("input").as_object();
  EXPECT_EQ(input.at("phase"), "pre");
  EXPECT_EQ(base::json::write(input.at("request")),
            R"({"tool":"t.a","args":{"n":1},"args_h":"sha256:1","dry_run":false})");
  EXPECT_EQ(input.at("principal").at("sub"), "alice");
  EXPECT_EQ(input.at("capability").at("origin").at("kind"), "local");
  EXPECT_FALSE(input.contains("output"));
  ToolResult result{.content = {{"text/plain", "a"}, {"image/png", "\x01"}}};
  result.content[0].uri = "file:///a";
  result.content[0].name = "A";
  result.structured = object(R"({"x":1})");
  auto post = policy_question(Phase::kPost, call_, capability_, &result).at("input").as_object();
  EXPECT_EQ(
      base::json::write(post.at("output")),
      R"({"is_error":false,"content":[{"type":"text/plain","text":"a","uri":"file:///a","name":"A"},)"
      R"({"type":"image/png","data":"AQ=="}],"structured":{"x":1}})");
}

// What the decision cache stands on.
TEST_F(PolicyQuestion, calls_that_differ_for_a_policy_have_different_questions) {
  std::string first = question();
  call_.request_id = "01JB";
  call_.traceparent = "00-3-4-01";
  EXPECT_EQ(question(), first) << "a name of one call tells nothing";
  std::vector<std::string> all = {first};
  auto changed = [&](auto change) {
    Invocation call = call_;
    Capability capability = capability_;
    change();
    all.push_back(question());
    call_ = call;
    capability_ = capability;
  };
  changed([&] { call_.args = object(R"({"n":2})"); });
  changed([&] { call_.args = object("{}"); });
  changed([&] { call_.args_hash = "sha256:2"; });
  changed([&] { call_.dry_run = true; });
  changed([&] { call_.session_id = "s-2"; });
  changed([&] { call_.peer = "127.0.0.2"; });
  changed([&] { call_.mode = Mode::kEncrypted; });
  changed([&] { call_.tool = *ToolId::parse("t.b"); });
  changed([&] { call_.principal = principal("bob"); });
  changed([&] {
    Principal bound;
    bound.subject = "alice";
    bound.bound_to.key = "k";
    call_.principal = std::make_shared<const Principal>(bound);
  });
  changed([&] {
    Principal wider;
    wider.subject = "alice";
    wider.scopes = *Scopes::parse("cap:list");
    call_.principal = std::make_shared<const Principal>(wider);
  });
  changed([&] {
    Principal narrower;
    narrower.subject = "alice";
    narrower.details = Details::of({Detail{*ToolId::parse("t.a"), ArgumentRules(), {}}});
    call_.principal = std::make_shared<const Principal>(narrower);
  });
  changed([&] {
    Principal other;
    other.subject = "alice";
    other.method = Method::kMtls;
    call_.principal = std::make_shared<const Principal>(other);
  });
  changed([&] { capability_.version = "2"; });
  changed([&] { capability_.annotations.read_only = true; });
  changed([&] { capability_.consent = ConsentRule::kAlways; });
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

}  // namespace
}  // namespace tool::guard

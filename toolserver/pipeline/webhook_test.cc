#include "toolserver/pipeline/webhook.h"

#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>

#include "base/http/server.h"
#include "toolserver/model/digest.h"
#include "toolserver/pipeline/consent_webhook.h"
#include "toolserver/pipeline/filter_webhook.h"
#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

using base::ErrorKind;
using base::http::Request;
using base::http::Response;
using testing::call_of;
using testing::capability;
using testing::object;
using testing::PipelineTest;
using testing::text_result;

/// A real server whose answer follows from the path.
class HookServer {
 public:
  HookServer() : workers_(1) {
    base::http::ServerOptions options;
    auto started = base::http::Server::start(
        std::move(options), workers_,
        {[this](base::RequestContext, Request request) { return serve(std::move(request)); }},
        [](unsigned status, std::string_view) {
          Response response;
          response.status = status;
          return response;
        });
    EXPECT_TRUE(started.has_value());
    server_ = std::move(*started);
  }
  [[nodiscard]] std::string url(std::string_view path) const {
    return fmt::format("http://127.0.0.1:{}{}", server_->port(), path);
  }
  void answer(std::string body) {
    std::lock_guard held(mutex_);
    body_ = std::move(body);
  }
  [[nodiscard]] base::json::Object asked() {
    std::lock_guard held(mutex_);
    return object(asked_);
  }
  [[nodiscard]] base::http::Headers headers() {
    std::lock_guard held(mutex_);
    return headers_;
  }
  std::atomic<int> redirected = 0;

 private:
  base::Task<Response> serve(Request request) {
    Response response;
    response.headers.add("Content-Type", "application/json");
    std::string_view path = request.path();
    if (path == "/stolen") ++redirected;
    if (path == "/redirect") {
      response.status = 302;
      response.headers.add("Location", url("/stolen"));
    } else if (path == "/500") {
      response.status = 500;
    } else if (path == "/204") {
      response.status = 204;
    } else if (path == "/huge") {
      response.body = base::http::Body(std::string(1 << 20, ' ') + "{}");
      co_return response;
    } else if (path == "/hang") {
      boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor,
                                      std::chrono::steady_clock::time_point::max());
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    std::lock_guard held(mutex_);
    asked_ = std::move(request.body);
    headers_ = std::move(request.headers);
    if (path != "/204") response.body = base::http::Body(body_);
    co_return response;
  }

  std::mutex mutex_;
  std::string body_ = "{}";
  std::string asked_;
  base::http::Headers headers_;
  base::Workers workers_;
  std::unique_ptr<base::http::Server> server_;
};

std::unique_ptr<Webhook> webhook(std::string url) {
  auto hook = Webhook::create({.url = std::move(url), .timeout = std::chrono::milliseconds(200)});
  EXPECT_TRUE(hook.has_value());
  return hook ? std::move(*hook) : nullptr;
}

base::Task<base::Result<base::json::Object>> post_to(std::string url) {
  auto hook = webhook(std::move(url));
  co_return co_await hook->post({}, "alice", object("{}"));
}

TEST(WebhookTest, only_https_or_loopback) {
  struct Case {
    std::string_view url;
    std::optional<ErrorKind> refusal;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"https://hooks.example/consent?a=b", std::nullopt},
           {"https://hooks.example", std::nullopt},
           {"http://127.0.0.1:8080/x", std::nullopt},
           {"http://localhost:8080/x", std::nullopt},
           {"http://hooks.example/x", ErrorKind::kForbidden},
           {"http://127.0.0.1.example:80/x", ErrorKind::kForbidden},
           {"http://localhost@evil.example/x", ErrorKind::kInvalid},
           {"http://127.0.0.1:80/x#y", ErrorKind::kInvalid},
           {"http://127.0.0.1:80/x y", ErrorKind::kInvalid},
           {"http://127.0.0.1:80/x\r\nA: b", ErrorKind::kInvalid},
           {"ftp://127.0.0.1/x", ErrorKind::kInvalid},
           {"127.0.0.1/x", ErrorKind::kInvalid},
           {"", ErrorKind::kInvalid},
       }) {
    auto hook = Webhook::create({.url = std::string(c.url)});
    EXPECT_EQ(hook ? std::nullopt : std::optional(hook.error().kind()), c.refusal) << c.url;
  }
}

TEST(WebhookTest, an_answer_is_one_small_object_with_status_200_in_time) {
  HookServer server;
  server.answer(R"({"a":1})");
  auto fine = testing::run(post_to(server.url("/x?y=1")));
  ASSERT_TRUE(fine.has_value()) << fine.error().message();
  EXPECT_EQ(*fine, object(R"({"a":1})"));
  struct Case {
    const char* path;
    ErrorKind kind;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"/redirect", ErrorKind::kUnavailable},
           {"/500", ErrorKind::kUnavailable},
           {"/204", ErrorKind::kUnavailable},
           {"/huge", ErrorKind::kTooLarge},
           {"/hang", ErrorKind::kOutcomeUnknown},
       }) {
    auto result = testing::run(post_to(server.url(c.path)));
    ASSERT_FALSE(result.has_value()) << c.path;
    EXPECT_EQ(result.error().kind(), c.kind) << c.path << " " << result.error().message();
  }
  EXPECT_EQ(server.redirected, 0);
  for (const char* body : {"", "yes", "[]", "{\"a\":1,\"a\":2}", "{", "null"}) {
    server.answer(body);
    auto result = testing::run(post_to(server.url("/x")));
    ASSERT_FALSE(result.has_value()) << body;
    EXPECT_EQ(result.error().kind(), ErrorKind::kInvalid) << body;
  }
  auto nobody =
      testing::run(post_to(fmt::format("http://127.0.0.1:{}/", base::testing::free_port())));
  EXPECT_EQ(nobody.error().kind(), ErrorKind::kUnavailable);
}

class HookedPipelineTest : public PipelineTest {
 protected:
  std::string_view consented(std::string_view path, std::string answer) {
    if (!connector_) {
      Capability tool = capability("t.a");
      tool.consent = ConsentRule::kAlways;
      connector_ = add({tool});
    }
    server_.answer(std::move(answer));
    parts_->consent = std::make_shared<ConsentWebhook>(webhook(server_.url(path)));
    pipeline_.reset();
    return code_of(call_of("t.a", R"({"n":3})"));
  }
  Outcome<PipelineReply> filtered(std::string_view path, std::string answer,
                                  FilterFailure failure = FilterFailure::kClosed) {
    if (!connector_) connector_ = add({capability("t.a")});
    connector_->invoke_with = [](Approved<Invocation>,
                                 Progress) -> base::Task<Outcome<ToolResult>> {
      ToolResult result = text_result("password: hunter2");
      result.content.push_back({"image/png", std::string("\x89PNG\0", 5)});
      result.structured = object(R"({"password":"hunter2"})");
      co_return result;
    };
    server_.answer(std::move(answer));
    parts_->filters = {std::make_shared<FilterWebhook>(webhook(server_.url(path)), failure)};
    pipeline_.reset();
    return ask(call_of("t.a"));
  }

  HookServer server_;
  std::shared_ptr<testing::TestConnector> connector_;
};

TEST_F(HookedPipelineTest, consent_by_webhook_fails_closed) {
  struct Case {
    const char* path;
    const char* answer;
    std::string_view code;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"/x", R"({"decision":"approve","by":"bob","scope":"once"})", "ok"},
           {"/x", R"({"decision":"approve"})", "ok"},
           {"/x", R"({"decision":"deny","by":"bob"})", "E_CONSENT"},
           {"/x", R"({"decision":"timeout"})", "E_CONSENT"},
           {"/x", R"({"decision":"Approve"})", "E_CONSENT"},
           {"/x", R"({"decision":true})", "E_CONSENT"},
           {"/x", R"({"decision":"approve","scope":"forever"})", "E_CONSENT"},
           {"/x", R"({"decision":"approve","by":1})", "E_CONSENT"},
           {"/x", R"({})", "E_CONSENT"},
           {"/x", "approve", "E_CONSENT"},
           {"/500", R"({"decision":"approve"})", "E_CONSENT"},
           {"/redirect", R"({"decision":"approve"})", "E_CONSENT"},
           {"/huge", R"({"decision":"approve"})", "E_CONSENT"},
           {"/hang", R"({"decision":"approve"})", "E_CONSENT"},
       }) {
    EXPECT_EQ(consented(c.path, c.answer), c.code) << c.path << " " << c.answer;
  }
  EXPECT_EQ(connector_->invoked, 2);
  EXPECT_EQ(consented("/x", R"({"decision":"approve"})"), "ok");
  auto question = server_.asked();
  EXPECT_EQ(question.at("tool"), "t.a");
  EXPECT_EQ(question.at("principal"), "alice");
  EXPECT_EQ(question.at("args_preview"), R"({"n":3})");
  EXPECT_EQ(question.at("bytes"), 7);
  EXPECT_EQ(question.at("truncated"), false);
  EXPECT_EQ(question.at("scopes"), base::json::Value(base::json::Array{"once", "args_hash"}));
  EXPECT_EQ(question.at("args_h").as_string(), *args_digest(object(R"({"n":3})")));
  EXPECT_EQ(question.at("expires"), 1'795'251'660'000);
}

TEST_F(HookedPipelineTest, a_filter_passes_redacts_or_blocks) {
  auto passed = filtered("/x", R"({"action":"pass"})");
  ASSERT_TRUE(passed.has_value());
  EXPECT_EQ(passed->result.content.at(0).data, "password: hunter2");
  EXPECT_EQ(passed->redactions, 0u);
  auto question = server_.asked();
  EXPECT_EQ(question.at("content").at(1).at("data"), "iVBORwA=");
  EXPECT_EQ(question.at("structured").at("password"), "hunter2");

  auto redacted = filtered("/x", R"({"action":"redact","redactions":2,
      "content":[{"type":"text/plain","text":"password: ***"},{"type":"image/png","data":"AAA="}]})");
  ASSERT_TRUE(redacted.has_value());
  EXPECT_EQ(redacted->result.content.at(0).data, "password: ***");
  EXPECT_EQ(redacted->result.content.at(1).data, std::string(2, '\0'));
  EXPECT_FALSE(redacted->result.structured.has_value());
  EXPECT_EQ(redacted->redactions, 2u);

  auto blocked = filtered("/x", R"({"action":"block"})");
  ASSERT_FALSE(blocked.has_value());
  EXPECT_EQ(blocked.error().code, Code::kPolicy);
}

TEST_F(HookedPipelineTest, an_open_filter_lets_pass_only_what_nobody_could_be_asked_about) {
  struct Case {
    const char* path;
    const char* answer;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"/x", "{}"},
           {"/x", R"({"action":"PASS"})"},
           {"/x", R"({"action":"redact"})"},
           {"/x", R"({"action":"redact","content":[{"type":"text/plain"}]})"},
           {"/x", R"({"action":"redact","content":[{"type":"image/png","data":"?"}]})"},
           {"/500", R"({"action":"pass"})"},
           {"/redirect", R"({"action":"pass"})"},
           {"/huge", R"({"action":"pass"})"},
           {"/hang", R"({"action":"pass"})"},
       }) {
    for (FilterFailure failure : {FilterFailure::kClosed, FilterFailure::kOpen}) {
      auto reply = filtered(c.path, c.answer, failure);
      ASSERT_FALSE(reply.has_value()) << c.path << c.answer;
      EXPECT_EQ(reply.error().code, Code::kUpstream) << c.path << c.answer;
    }
  }
  std::string nobody = fmt::format("http://127.0.0.1:{}/", base::testing::free_port());
  for (auto [failure, passes] :
       {std::pair{FilterFailure::kClosed, false}, {FilterFailure::kOpen, true}}) {
    parts_->filters = {std::make_shared<FilterWebhook>(webhook(nobody), failure)};
    pipeline_.reset();
    EXPECT_EQ(ask(call_of("t.a")).has_value(), passes);
  }
}

TEST_F(HookedPipelineTest, a_hook_can_tell_who_asks) {
  Capability tool = capability("t.a");
  tool.consent = ConsentRule::kAlways;
  connector_ = add({tool});
  server_.answer(R"({"decision":"approve"})");
  const base::Secret secret("a secret of the hook, 32 bytes long");
  for (bool is_signed : {true, false}) {
    auto hook = Webhook::create({.url = server_.url("/x"),
                                 .bearer = is_signed ? base::Secret("t0ken") : base::Secret(),
                                 .signing_secret = is_signed ? secret : base::Secret()});
    ASSERT_TRUE(hook);
    parts_->consent = std::make_shared<ConsentWebhook>(std::move(*hook));
    pipeline_.reset();
    EXPECT_EQ(code_of(call_of("t.a", R"({"n":3})")), "ok");
    auto headers = server_.headers();
    EXPECT_EQ(headers.get("Authorization").value_or(""), is_signed ? "Bearer t0ken" : "");
    if (!is_signed) {
      EXPECT_FALSE(headers.get("webhook-signature").has_value());
      continue;
    }
    EXPECT_EQ(headers.get("webhook-id").value_or(""), "01JTEST");
    std::string sent = base::json::write(base::json::Value(server_.asked()));
    auto time = std::chrono::seconds(std::stoll(std::string(*headers.get("webhook-timestamp"))));
    auto expected = signature_headers(secret, "01JTEST", base::WallTime(time), sent);
    EXPECT_EQ(headers.get("webhook-signature"), expected.get("webhook-signature"));
    EXPECT_LT(base::SystemClock().now() - base::WallTime(time), std::chrono::minutes(1));
  }
}

// Made with Python's hmac and base64.
TEST(WebhookTest, the_signature_is_that_of_standard_webhooks) {
  auto headers =
      signature_headers(base::Secret("a secret of the hook, 32 bytes long"), "01JTEST",
                        base::WallTime(std::chrono::seconds(1'795'251'600)), R"({"n":3})");
  EXPECT_EQ(headers.get("webhook-timestamp"), "1795251600");
  EXPECT_EQ(headers.get("webhook-signature"), "v1,RLnMdTnLqyT+VM9Q/mis6lqnliuLeS86bS4tN1fsUe0=");
}

}  // namespace
}  // namespace tool::pipeline

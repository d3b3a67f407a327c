#include "base/jose/client_credentials.h"

#include <gtest/gtest.h>

#include "base/crypto/encoding.h"
#include "base/jose/provider_test.h"

namespace base::jose {
namespace {

using namespace testing;
using std::chrono::seconds;

std::string token_answer(std::string_view token, std::string_view expires_in = "3600") {
  return fmt::format(R"({{"access_token":"{}","token_type":"Bearer","expires_in":{}}})", token,
                     expires_in);
}

class ClientCredentialsTest : public LoopTest {
 protected:
  ClientCredentialsOptions options() {
    return {.token_url = provider.url("127.0.0.1", "/token"),
            .client_id = "agent 7",
            .client_secret = Secret("p:ss/w%rd"),
            .ca_file = certificate.files().certificate_chain};
  }
  std::unique_ptr<ClientCredentials> make(ClientCredentialsOptions with) {
    return ClientCredentials::create(loop.get_executor(), std::move(with), clock).value();
  }
  /// The token, or the kind of the refusal.
  std::string token(ClientCredentials& from) {
    auto got = run(from.token({}));
    return got ? got->value.reveal() : std::string(to_string(got.error().kind()));
  }

  Provider provider{&certificate};
};

TEST_F(ClientCredentialsTest, asks_as_RFC_6749_section_4_4_2_says) {
  provider.answer({.body = token_answer("t-1")});
  auto with = options();
  with.scope = "tool:invoke:a.b cap:list";
  with.audience = "api://tools";
  with.resource = "https://tools.example/scp?x=1&y=2";
  EXPECT_EQ(token(*make(with)), "t-1");
  http::Request request = provider.last();
  EXPECT_EQ(request.method, http::Method::kPost);
  EXPECT_EQ(request.target, "/token");
  EXPECT_EQ(request.headers.get("content-type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(request.headers.get("authorization"),
            "Basic " + crypto::to_base64("agent%207:p%3Ass%2Fw%25rd"));
  EXPECT_EQ(request.body,
            "grant_type=client_credentials&scope=tool%3Ainvoke%3Aa.b%20cap%3Alist"
            "&audience=api%3A%2F%2Ftools"
            "&resource=https%3A%2F%2Ftools.example%2Fscp%3Fx%3D1%26y%3D2");
  EXPECT_EQ(token(*make(options())), "t-1");
  EXPECT_EQ(provider.last().body, "grant_type=client_credentials");
}

TEST_F(ClientCredentialsTest, a_token_is_kept_until_shortly_before_its_end) {
  struct Case {
    std::string name, expires_in;
    int kept;  ///< Seconds.
  };
  for (const Case& c : {Case{"an hour", "3600", 3540}, Case{"five minutes", "300", 270},
                        Case{"ten seconds", "10", 9}, Case{"a year is a day", "31536000", 86340},
                        Case{"unstated", "null", 54}}) {
    provider.answer({.body = token_answer("first", c.expires_in)});
    auto client = make(options());
    EXPECT_EQ(token(*client), "first") << c.name;
    provider.answer({.body = token_answer("second")});
    clock.advance(seconds(c.kept - 1));
    EXPECT_EQ(token(*client), "first") << c.name;
    clock.advance(seconds(1));
    EXPECT_EQ(token(*client), "second") << c.name;
  }
}

TEST_F(ClientCredentialsTest, a_forgotten_token_is_asked_for_again) {
  provider.answer({.body = token_answer("first")});
  auto client = make(options());
  client->forget();
  EXPECT_EQ(token(*client), "first");
  provider.answer({.body = token_answer("second")});
  EXPECT_EQ(token(*client), "first");
  client->forget();
  EXPECT_EQ(token(*client), "second");
}

TEST_F(ClientCredentialsTest, what_is_not_a_bearer_token_is_refused) {
  struct Case {
    std::string name;
    Reply reply;
    std::string kind;
  };
  std::string good = token_answer("t");
  for (const Case& c : {
           Case{"invalid_client",
                {.status = 401, .body = R"({"error":"invalid_client"})"},
                "unauthenticated"},
           Case{"invalid_scope",
                {.status = 400, .body = R"({"error":"invalid_scope"})"},
                "unauthenticated"},
           Case{"a refusal without a word", {.status = 400, .body = "<html>"}, "unauthenticated"},
           Case{"forbidden", {.status = 403}, "unauthenticated"},
           Case{"redirected", {.status = 307, .location = provider.url()}, "unavailable"},
           Case{"too many", {.status = 429}, "unavailable"},
           Case{"failing", {.status = 500, .body = good}, "unavailable"},
           Case{"created", {.status = 201, .body = good}, "unavailable"},
           Case{"a web page", {.body = "<html>"}, "unavailable"},
           Case{"a list", {.body = "[]"}, "unavailable"},
           Case{"no token", {.body = R"({"token_type":"Bearer"})"}, "unavailable"},
           Case{"no type", {.body = R"({"access_token":"t"})"}, "unavailable"},
           Case{"another type",
                {.body = R"({"access_token":"t","token_type":"mac"})"},
                "unavailable"},
           Case{"an empty token", {.body = token_answer("")}, "unavailable"},
           Case{"a token with a line end", {.body = token_answer("t\\r\\nX: y")}, "unavailable"},
           Case{"a token with a space", {.body = token_answer("t t")}, "unavailable"},
           Case{"a token of 16385 bytes",
                {.body = token_answer(std::string(16'385, 't'))},
                "unavailable"},
           Case{"expires at once", {.body = token_answer("t", "0")}, "unavailable"},
           Case{"expired", {.body = token_answer("t", "-5")}, "unavailable"},
           Case{"expires by text", {.body = token_answer("t", R"("3600")")}, "unavailable"},
           Case{"huge", {.body = good + std::string(64 * 1024, ' ')}, "unavailable"},
       }) {
    provider.answer(c.reply);
    int before = provider.requests();
    auto client = make(options());
    auto got = run(client->token({}));
    ASSERT_FALSE(got) << c.name;
    EXPECT_EQ(to_string(got.error().kind()), c.kind) << c.name;
    std::string told = got.error().message() + got.error().detail();
    EXPECT_FALSE(told.contains("p:ss") || told.contains("p%3A")) << c.name;
    EXPECT_EQ(provider.requests(), before + 1) << c.name;
    // A refusal is not remembered.
    provider.answer({.body = token_answer("good")});
    EXPECT_EQ(token(*client), "good") << c.name;
  }
}

TEST_F(ClientCredentialsTest, callers_share_one_request_and_may_leave_it) {
  provider.answer({.body = token_answer("t"), .holds = Holds::kUntilReleased});
  auto client = make(options());
  RequestContext hurried{.deadline = std::chrono::steady_clock::now() + milliseconds(50)};
  auto late = spawn(client->token(hurried));
  auto first = spawn(client->token({}));
  auto second = spawn(client->token({}));
  run_until([&] { return late->has_value(); });
  EXPECT_EQ(late->value().error().kind(), ErrorKind::kTimeout);
  run_until([&] { return provider.holding() == 1; });
  provider.release();
  run_until([&] { return first->has_value() && second->has_value(); });
  EXPECT_TRUE(first->value().has_value() && second->value().has_value());
  EXPECT_EQ(provider.requests(), 1);
  run_to_end(client->wait());
}

TEST_F(ClientCredentialsTest, a_provider_that_is_slow_or_gone_is_unavailable) {
  provider.answer({.body = token_answer("t"), .holds = Holds::kUntilReleased});
  auto with = options();
  with.request_time = milliseconds(100);
  EXPECT_EQ(token(*make(with)), "unavailable");
  provider.stop();
  EXPECT_EQ(token(*make(options())), "unavailable");
}

TEST_F(ClientCredentialsTest, credentials_go_only_to_the_certified_host) {
  Certificate stranger("IP:127.0.0.1");
  auto with = options();
  with.ca_file = stranger.files().certificate_chain;
  EXPECT_EQ(token(*make(with)), "unavailable");
  with = options();
  with.token_url = provider.url("localhost", "/token");
  EXPECT_EQ(token(*make(with)), "unavailable");
  EXPECT_EQ(provider.requests(), 0);
}

TEST_F(ClientCredentialsTest, options_that_cannot_work_are_refused) {
  auto refused = [&](auto change) {
    auto with = options();
    change(with);
    auto made = ClientCredentials::create(loop.get_executor(), std::move(with), clock);
    return !made && made.error().kind() == ErrorKind::kInvalid;
  };
  EXPECT_TRUE(refused([](auto& o) { o.token_url = "http://127.0.0.1:1/token"; }));
  EXPECT_TRUE(refused([](auto& o) { o.token_url = "http://id.example/token"; }));
  EXPECT_TRUE(refused([](auto& o) { o.token_url = ""; }));
  EXPECT_TRUE(refused([](auto& o) { o.client_id = ""; }));
  EXPECT_TRUE(refused([](auto& o) { o.client_secret = Secret(""); }));
  EXPECT_FALSE(refused([](auto&) {}));
}

}  // namespace
}  // namespace base::jose

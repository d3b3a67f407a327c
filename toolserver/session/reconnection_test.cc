// A session that follows one whose connection was lost: by its last token and
// the key that the token is bound to.

#include <gtest/gtest.h>

#include <string>

#include "toolserver/session/fixture_test.h"

namespace tool::session {
namespace {

using base::crypto::KeyType;
using base::crypto::SigningKey;
using testing::close_of;
using testing::find;
using testing::give;
using testing::Options;
using testing::Pair;
using testing::sent;

const SigningKey& session_key() {
  static const auto key = SigningKey::generate(KeyType::kEd25519);
  return key;
}

ServerConfig server_of(const Options& options) {
  auto config = testing::server_config(options);
  config.methods.push_back(Method::kSession);
  return config;
}

ClientConfig client_of(const Options& options, std::string former = {}) {
  auto config = testing::client_config(options);
  config.session_key = session_key();
  config.former_session = base::Secret(std::move(former));
  return config;
}

// What a server makes of the auth of such a client.
ServerActions shown_to(Pair& pair) {
  return give(pair.server, sent(give(pair.client, sent(give(pair.server, *pair.client.start())))));
}

const std::vector<Options>& all_options() {
  static const std::vector<Options> all = {
      {},
      testing::signed_options(),
      {.mode = Mode::kBasic, .suites = {Suite::kNone}, .method = Method::kJwt}};
  return all;
}

TEST(ReconnectionTest, the_token_of_a_session_names_the_key_that_it_is_bound_to) {
  for (const auto& options : all_options()) {
    Pair pair(server_of(options), client_of(options), options);
    ASSERT_TRUE(pair.open());
    const std::string& token = pair.client.ready().session_token;
    auto context = pair.world.context(server_of(options));
    auto former = context->tokens().read(token, pair.world.clock.now());
    ASSERT_TRUE(former.has_value());
    EXPECT_EQ(former->id, pair.server.id().text());
    EXPECT_EQ(former->token_id, pair.server.token_id().text());
    EXPECT_EQ(former->holder, session_key().thumbprint());
    EXPECT_EQ(pair.server.session_key(), session_key().thumbprint());
    pair.world.clock.advance(std::chrono::seconds(15 * 60));
    EXPECT_EQ(context->tokens().read(token, pair.world.clock.now()).error().code, Code::kExpired);
  }
}

TEST(ReconnectionTest, a_token_that_is_bound_to_no_key_opens_nothing) {
  Options options;
  Pair pair(server_of(options), testing::client_config(options), options);
  ASSERT_TRUE(pair.open());
  auto context = pair.world.context(server_of(options));
  auto former = context->tokens().read(pair.client.ready().session_token, pair.world.clock.now());
  EXPECT_EQ(former.error().code, Code::kAuth);
}

TEST(ReconnectionTest, a_client_that_follows_shows_the_token_and_no_credential) {
  for (const auto& options : all_options()) {
    Pair pair(server_of(options), client_of(options, "h.c.s"), options);
    auto presented = shown_to(pair);
    const auto* verify = find<VerifyCredential>(presented);
    ASSERT_NE(verify, nullptr);
    EXPECT_EQ(verify->method, Method::kSession);
    EXPECT_EQ(verify->credential.reveal(), "h.c.s");
    EXPECT_EQ(verify->holder, session_key().thumbprint());
    // A refresh shows the credential itself again.
    (void)give(pair.client, sent(pair.server.on_verified(testing::alice())));
    EXPECT_EQ(pair.client.refresh_payload()->at("method").as_string(),
              std::string(name(options.method)));
  }
}

TEST(ReconnectionTest, the_token_alone_is_refused_before_it_is_looked_at) {
  Options options;
  testing::World world;
  ServerSession server(world.context(server_of(options)), options.server_channel);
  testing::RawClient client(world, options);
  Envelope auth = client.auth(sent(give(server, client.hello())));
  auth.payload = {{"method", "session"}, {"credential", "h.c.s"}};
  auto th_auth = transcript_auth(client.handshake.th1(), *canonical_without_sig(auth));
  auto confirm = base::crypto::hmac_sha256(client.layer->keys().key(KeyLabel::kConfirmC).reveal(),
                                           base::crypto::view(th_auth));
  auth.payload["confirm"] = base::crypto::to_base64url(base::crypto::view(confirm));
  auto actions = give(server, client.encode(auth));
  EXPECT_EQ(find<VerifyCredential>(actions), nullptr);
  EXPECT_EQ(client.refusal(actions), "E_AUTH");
  EXPECT_EQ(close_of(actions), 4401);
}

TEST(ReconnectionTest, a_session_token_refreshes_nothing) {
  Options options;
  Pair pair(server_of(options), client_of(options), options);
  ASSERT_TRUE(pair.open());
  auto request = pair.client.encode_request(
      Op::kRefresh, {{"method", "session"}, {"credential", pair.client.ready().session_token}});
  auto answer = give(pair.client, sent(give(pair.server, request->frame)));
  ASSERT_NE(find<Refused>(answer), nullptr);
  EXPECT_EQ(find<Refused>(answer)->fault.code, Code::kAuth);
  EXPECT_EQ(pair.server.state(), ServerState::kReady);
}

TEST(ReconnectionTest, what_follows_ends_when_the_first_session_would_have_ended) {
  Options options;
  Pair pair(server_of(options), client_of(options, "h.c.s"), options);
  (void)shown_to(pair);
  auto opened = pair.world.clock.now() - std::chrono::hours(11);
  (void)give(pair.client, sent(pair.server.on_verified(testing::alice(), opened)));
  EXPECT_EQ(pair.server.opened_at(), opened);
  pair.world.clock.advance(std::chrono::minutes(59));
  EXPECT_TRUE(pair.server.on_time().empty());
  pair.world.clock.advance(std::chrono::minutes(1));
  EXPECT_NE(close_of(pair.server.on_time()), 0);
}

TEST(ReconnectionTest, a_refresh_puts_another_token_in_place_of_the_last) {
  Options options;
  Pair pair(server_of(options), client_of(options), options);
  ASSERT_TRUE(pair.open());
  Ulid before = pair.server.token_id();
  auto request = pair.client.encode_request(Op::kRefresh, {});
  EXPECT_NE(find<Answer>(give(pair.client, sent(give(pair.server, request->frame)))), nullptr);
  EXPECT_NE(pair.server.token_id(), before);
}

}  // namespace
}  // namespace tool::session

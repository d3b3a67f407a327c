// Proofs of possession inside the handshake and a refresh. The proofs alone are
// cases of tests/golden/wire/holders.json.

#include "toolserver/session/holder_proof.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "toolserver/session/fixture_test.h"

namespace tool::session {
namespace {

using base::crypto::KeyType;
using base::crypto::SigningKey;
using base::json::Object;
using testing::close_of;
using testing::find;
using testing::give;
using testing::Options;
using testing::Pair;
using testing::RawPair;
using testing::sent;

const SigningKey& key() {
  static const auto made = SigningKey::generate(KeyType::kEd25519);
  return made;
}

Options with_token() {
  return {.mode = Mode::kBasic, .suites = {Suite::kNone}, .method = Method::kJwt};
}

ClientConfig with_key(const Options& options) {
  ClientConfig config = client_config(options);
  config.holder = key();
  return config;
}

Principal bound_alice() {
  Principal out = testing::alice();
  out.method = Method::kJwt;
  out.bound_to.key = key().thumbprint();
  return out;
}

TEST(HolderProofTest, a_client_with_a_key_proves_it_at_auth_and_refresh) {
  for (Mode mode : {Mode::kSimple, Mode::kBasic, Mode::kEncrypted}) {
    Options options = with_token();
    options.mode = mode;
    if (mode == Mode::kEncrypted) options.suites = {Suite::kX25519Aes256Gcm};
    Pair pair(server_config(options), with_key(options), options);
    auto auth = sent(give(pair.client, sent(give(pair.server, *pair.client.start()))));
    auto presented = give(pair.server, auth);
    ASSERT_NE(find<VerifyCredential>(presented), nullptr);
    EXPECT_EQ(find<VerifyCredential>(presented)->holder, key().thumbprint());
    (void)give(pair.client, sent(pair.server.on_verified(bound_alice())));
    auto refresh = pair.client.encode_request(Op::kRefresh, *pair.client.refresh_payload());
    auto again = give(pair.server, refresh->frame);
    ASSERT_NE(find<VerifyCredential>(again), nullptr);
    EXPECT_EQ(find<VerifyCredential>(again)->holder, key().thumbprint());
  }
}

TEST(HolderProofTest, a_client_without_a_key_proves_none) {
  Options options = with_token();
  Pair pair(options);
  auto presented =
      give(pair.server, sent(give(pair.client, sent(give(pair.server, *pair.client.start())))));
  ASSERT_NE(find<VerifyCredential>(presented), nullptr);
  EXPECT_EQ(find<VerifyCredential>(presented)->holder, "");
}

TEST(HolderProofTest, an_api_key_is_sent_without_a_proof) {
  Options options;
  Pair pair(server_config(options), with_key(options), options);
  EXPECT_TRUE(pair.open());
}

TEST(HolderProofTest, a_key_of_another_kind_sends_nothing) {
  Options options = with_token();
  ClientConfig config = client_config(options);
  config.holder = SigningKey::generate(KeyType::kRsa);
  Pair pair(server_config(options), config, options);
  auto actions = give(pair.client, sent(give(pair.server, *pair.client.start())));
  EXPECT_EQ(find<Send>(actions), nullptr);
  EXPECT_EQ(pair.client.state(), ClientState::kFailed);
}

// A raw client whose auth, or refresh, has the proof that `make` gives it.
struct Case {
  const char* what;
  Object (*make)(const Digest& th1);
  std::string answer;  // Empty: it is verified.
};
Object proof(const Digest& th1, std::string_view credential = "a.b.c") {
  return *make_holder(key(), th1, credential);
}
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"of this connection", [](const Digest& th1) { return proof(th1); }, ""},
      {"of another connection", [](const Digest&) { return proof(Digest{1}); }, "E_AUTH"},
      {"for another token", [](const Digest& th1) { return proof(th1, "x.y.z"); }, "E_AUTH"},
      {"by another key",
       [](const Digest& th1) {
         Object out = proof(th1);
         out["v"] = (*make_holder(SigningKey::generate(KeyType::kEd25519), th1, "a.b.c")).at("v");
         return out;
       },
       "E_AUTH"},
      {"of another algorithm",
       [](const Digest& th1) {
         Object out = proof(th1);
         out["alg"] = "ES256";
         return out;
       },
       "E_SHAPE"},
      {"of nothing", [](const Digest&) { return Object(); }, "E_SHAPE"},
  };
  return all;
}

TEST(HolderProofTest, an_auth_whose_proof_does_not_hold_ends_the_handshake) {
  for (const auto& one : cases()) {
    RawPair pair(with_token());
    auto welcomed = give(pair.server, pair.client.hello());
    Envelope auth = pair.client.auth(sent(welcomed));
    const Digest& th1 = pair.client.handshake.th1();
    auth.payload["holder"] = one.make(th1);
    // Confirmed, as a real client would: the proof alone decides.
    auth.payload.erase("confirm");
    auto th_auth = transcript_auth(th1, *canonical_without_sig(auth));
    auto confirm = base::crypto::hmac_sha256(
        pair.client.layer->keys().key(KeyLabel::kConfirmC).reveal(), base::crypto::view(th_auth));
    auth.payload["confirm"] = base::crypto::to_base64url(base::crypto::view(confirm));
    auto actions = give(pair.server, pair.client.encode(auth));
    EXPECT_EQ(find<VerifyCredential>(actions) != nullptr, one.answer.empty()) << one.what;
    EXPECT_EQ(pair.client.refusal(actions), one.answer) << one.what;
    if (one.answer.empty()) continue;
    EXPECT_EQ(close_of(actions), one.answer == "E_AUTH" ? 4401 : 4400) << one.what;
  }
}

TEST(HolderProofTest, a_refresh_whose_proof_does_not_hold_changes_nothing) {
  for (const auto& one : cases()) {
    RawPair pair(with_token());
    pair.reach(ServerState::kReady);
    auto actions = pair.give_message(MessageType::kReq, "session.refresh",
                                     {{"method", "jwt"},
                                      {"credential", "a.b.c"},
                                      {"holder", one.make(pair.client.handshake.th1())}});
    EXPECT_EQ(find<VerifyCredential>(actions) != nullptr, one.answer.empty()) << one.what;
    EXPECT_EQ(pair.client.refusal(actions), one.answer) << one.what;
    EXPECT_EQ(close_of(actions), 0) << one.what;
    EXPECT_EQ(pair.server.state(), ServerState::kReady);
  }
}

TEST(HolderProofTest, a_proof_without_a_token_is_refused) {
  RawPair pair;
  pair.reach(ServerState::kReady);
  const Digest& th1 = pair.client.handshake.th1();
  std::string credential = api_key_credential(testing::test_secrets().api_key, th1);
  auto refresh = [&](Object payload) {
    payload["method"] = "api_key";
    payload["credential"] = credential;
    return pair.give_message(MessageType::kReq, "session.refresh", std::move(payload));
  };
  EXPECT_EQ(pair.client.refusal(refresh({{"holder", proof(th1, credential)}})), "E_AUTH");
  EXPECT_NE(find<VerifyCredential>(refresh({})), nullptr);
}

TEST(HolderProofTest, a_bound_session_is_refreshed_by_its_own_binding_alone) {
  Principal unbound = testing::alice();
  unbound.method = Method::kJwt;
  Principal by_other_key = bound_alice(), by_both = bound_alice();
  by_other_key.bound_to.key = SigningKey::generate(KeyType::kEd25519).thumbprint();
  by_both.bound_to.certificate = "x";
  struct Row {
    Principal opened, refreshed;
    bool good;
  };
  for (const auto& [opened, refreshed, good] :
       {Row{bound_alice(), bound_alice(), true}, Row{unbound, unbound, true},
        Row{unbound, bound_alice(), true}, Row{bound_alice(), unbound, false},
        Row{bound_alice(), by_other_key, false}, Row{bound_alice(), by_both, false}}) {
    Options options = with_token();
    Pair pair(server_config(options), with_key(options), options);
    auto auth = sent(give(pair.client, sent(give(pair.server, *pair.client.start()))));
    (void)give(pair.server, auth);
    (void)give(pair.client, sent(pair.server.on_verified(opened)));
    (void)give(pair.server,
               pair.client.encode_request(Op::kRefresh, *pair.client.refresh_payload())->frame);
    auto answer = give(pair.client, sent(pair.server.on_verified(refreshed)));
    EXPECT_EQ(find<Answer>(answer) != nullptr, good);
    EXPECT_EQ(pair.server.principal()->bound_to, good ? refreshed.bound_to : opened.bound_to);
    EXPECT_EQ(pair.server.state(), ServerState::kReady);
    if (good) continue;
    ASSERT_NE(find<Refused>(answer), nullptr);
    EXPECT_EQ(find<Refused>(answer)->fault.code, Code::kAuth);
  }
}

}  // namespace
}  // namespace tool::session

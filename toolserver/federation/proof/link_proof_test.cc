#include "toolserver/federation/proof/link_proof.h"

#include <gtest/gtest.h>

#include "toolserver/federation/proof/fixture_test.h"

namespace tool::federation {
namespace {

using testing::code_of;
using testing::Known;
using testing::kSession;
using testing::node;

struct LinkProofTest : ::testing::Test {
  std::string credential(const NodeKeys& from) {
    return node_credential(from, "node-b", th1, clock.now, random).value();
  }
  testing::FixedClock clock;
  testing::CountingRandom random;
  base::crypto::Digest th1 = base::crypto::sha256("one handshake");
  std::unique_ptr<NodeKeys> a = node("node-a", {"node-b"});
  std::unique_ptr<NodeKeys> b = node("node-b", {"node-a"});
};

TEST_F(LinkProofTest, a_credential_names_the_node_that_connects) {
  EXPECT_EQ(verify_node_credential(*b, credential(*a), th1, clock.now).value(), "node-a");
  auto from = node("node-a", {"node-b"}, Known::kBySecret);
  auto to = node("node-b", {"node-a"}, Known::kBySecret);
  EXPECT_EQ(verify_node_credential(*to, credential(*from), th1, clock.now).value(), "node-a");
}

TEST_F(LinkProofTest, a_credential_is_for_one_handshake_one_node_and_one_day) {
  auto shown = credential(*a);
  auto other = base::crypto::sha256("another handshake");
  EXPECT_EQ(code_of(verify_node_credential(*b, shown, other, clock.now)), "E_AUTH");
  auto c = node("node-c", {"node-a"});
  EXPECT_EQ(code_of(verify_node_credential(*c, shown, th1, clock.now)), "E_AUTH");
  auto late = clock.now + kLinkProofLife + std::chrono::minutes(1);
  EXPECT_EQ(code_of(verify_node_credential(*b, shown, th1, late)), "E_AUTH");
}

TEST_F(LinkProofTest, the_shared_secret_does_not_stand_in_for_a_key) {
  auto forger = node("node-a", {"node-b"}, Known::kBySecret);
  EXPECT_EQ(code_of(verify_node_credential(*b, credential(*forger), th1, clock.now)), "E_AUTH");
}

TEST_F(LinkProofTest, strangers_and_texts_that_are_no_token_are_refused) {
  auto stranger = node("node-x", {"node-b"});
  EXPECT_EQ(code_of(verify_node_credential(*b, credential(*stranger), th1, clock.now)), "E_AUTH");
  for (const char* text : {"", "x", "a.b.c", "eyJhbGciOiJub25lIn0.e30."}) {
    EXPECT_EQ(code_of(verify_node_credential(*b, text, th1, clock.now)), "E_AUTH") << text;
  }
}

TEST_F(LinkProofTest, the_node_that_is_called_proves_itself_for_one_session) {
  auto proof = peer_proof(*b, "node-a", kSession, clock.now, random).value();
  EXPECT_EQ(code_of(verify_peer_proof(*a, proof, "node-b", kSession, clock.now)), "ok");
  EXPECT_EQ(code_of(verify_peer_proof(*a, proof, "node-b", testing::kRequest, clock.now)),
            "E_AUTH");
  EXPECT_EQ(code_of(verify_peer_proof(*a, proof, "node-c", kSession, clock.now)), "E_AUTH");
  auto forger = node("node-b", {"node-a"}, Known::kBySecret);
  auto forged = peer_proof(*forger, "node-a", kSession, clock.now, random).value();
  EXPECT_EQ(code_of(verify_peer_proof(*a, forged, "node-b", kSession, clock.now)), "E_AUTH");
}

TEST_F(LinkProofTest, a_credential_is_no_proof_of_the_other_kind) {
  EXPECT_EQ(code_of(verify_peer_proof(*b, credential(*a), "node-a", kSession, clock.now)),
            "E_AUTH");
}

TEST(NodeKeys, take_only_what_can_be_checked) {
  OwnKeys nothing{.node_id = "node-a", .key = std::nullopt, .secret = {}, .salt = {}};
  EXPECT_FALSE(NodeKeys::create(nothing));
  OwnKeys own{.node_id = "node-a", .key = testing::key_of("node-a"), .secret = {}, .salt = {}};
  auto keys = NodeKeys::create(own).value();
  EXPECT_FALSE(keys->add("node-a", testing::key_of("node-a").verify_key()));
  EXPECT_FALSE(keys->add("node b", testing::key_of("node-b").verify_key()));
  EXPECT_FALSE(keys->add("node-b", std::nullopt)) << "there is no secret to fall back to";
  EXPECT_TRUE(keys->add("node-b", testing::key_of("node-b").verify_key()));
  EXPECT_FALSE(keys->add("node-b", testing::key_of("node-b").verify_key()));
  EXPECT_EQ(code_of(keys->verifier("node-c", "node-a")), "E_AUTH");
}

TEST(NodeKeys, rsa_keys_sign_with_pss) {
  auto rsa = base::crypto::SigningKey::generate(base::crypto::KeyType::kRsa);
  auto keys = NodeKeys::create({"node-a", rsa, {}, {}}).value();
  EXPECT_EQ(keys->signer("node-b").algorithm(), base::jose::Algorithm::kPs256);
}

}  // namespace
}  // namespace tool::federation

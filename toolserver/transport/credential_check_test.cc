#include "toolserver/transport/credential_check.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <utility>

namespace tool::transport {
namespace {

using base::crypto::KeyType;
using base::crypto::SigningKey;
using session::Unbound;

class FixedClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override {
    return base::WallTime(std::chrono::milliseconds(1'795'251'600'000));
  }
};

const base::Secret kJwtSecret("jH4kLm9pQ2rStUvWx7yZaBcDeFgHiJ0K");
const std::string kCertificate(43, 'c');

struct CredentialCheckTest : ::testing::Test {
  CredentialCheckTest() {
    rules.node_id = "node-b";
    rules.client_tokens.emplace("node-b", "cluster-1", signer().verifier());
    rules.certificate_scopes = *Scopes::parse("cap:list");
  }
  static base::jose::Signer signer() { return *session::client_token_signer(kJwtSecret, {}); }

  std::string token(std::string holder) {
    return *session::mint_client_token(signer(),
                                       {.issuer = "node-b",
                                        .cluster = "cluster-1",
                                        .subject = "alice",
                                        .scopes = *Scopes::parse("cap:list"),
                                        .holder = std::move(holder)},
                                       clock.now(), random);
  }

  Outcome<Principal> verify(CredentialCheck::Presented presented) {
    boost::asio::io_context loop;
    auto check = *CredentialCheck::create(loop.get_executor(), rules, clock);
    std::optional<Outcome<Principal>> out;
    boost::asio::co_spawn(loop, check->verify({}, std::move(presented)),
                          [&](std::exception_ptr error, Outcome<Principal> answer) {
                            ASSERT_EQ(error, nullptr);
                            out.emplace(std::move(answer));
                          });
    loop.run();
    return std::move(*out);
  }
  std::string answer(std::string text, Binding proved) {
    auto verified = verify({.method = Method::kJwt,
                            .credential = base::Secret(std::move(text)),
                            .proved = std::move(proved)});
    return verified ? "ok" : std::string(name(verified.error().code));
  }

  FixedClock clock;
  base::SystemRandom random;
  CredentialRules rules;
  SigningKey key = SigningKey::generate(KeyType::kEd25519);
  SigningKey other = SigningKey::generate(KeyType::kEd25519);
};

TEST_F(CredentialCheckTest, a_bound_token_is_taken_from_its_holder_alone) {
  std::string bound = token(key.thumbprint());
  for (Unbound unbound : {Unbound::kAccepted, Unbound::kRefused}) {
    rules.unbound = unbound;
    EXPECT_EQ(answer(bound, {key.thumbprint(), ""}), "ok");
    EXPECT_EQ(answer(bound, {key.thumbprint(), kCertificate}), "ok");
    EXPECT_EQ(answer(bound, {}), "E_AUTH");
    EXPECT_EQ(answer(bound, {other.thumbprint(), ""}), "E_AUTH");
    EXPECT_EQ(answer(bound, {"", kCertificate}), "E_AUTH");
  }
}

TEST_F(CredentialCheckTest, a_token_that_is_not_bound_is_taken_unless_it_must_be) {
  EXPECT_EQ(answer(token(""), {}), "ok");
  EXPECT_EQ(answer(token(""), {key.thumbprint(), ""}), "ok");
  rules.unbound = Unbound::kRefused;
  EXPECT_EQ(answer(token(""), {}), "E_AUTH");
  EXPECT_EQ(answer(token(""), {key.thumbprint(), kCertificate}), "E_AUTH");
}

TEST_F(CredentialCheckTest, a_binding_holds_for_the_tokens_of_the_secret_before) {
  rules.client_tokens_previous = rules.client_tokens;
  base::Secret now("another-jwt-secret-of-good-length");
  rules.client_tokens.emplace("node-b", "cluster-1",
                              session::client_token_signer(now, {})->verifier());
  EXPECT_EQ(answer(token(key.thumbprint()), {key.thumbprint(), ""}), "ok");
  EXPECT_EQ(answer(token(key.thumbprint()), {}), "E_AUTH");
}

TEST_F(CredentialCheckTest, a_certificate_is_proved_by_tls_and_needs_no_token) {
  rules.unbound = Unbound::kRefused;
  CredentialCheck::Presented presented{.method = Method::kMtls,
                                       .certificate_subject = "CN=robot-7",
                                       .certificate_end = base::WallTime::max()};
  EXPECT_TRUE(verify(presented).has_value());
  presented.certificate_subject.clear();
  EXPECT_FALSE(verify(presented).has_value());
}

TEST_F(CredentialCheckTest, a_refusal_does_not_say_what_was_wrong) {
  auto refused =
      verify({.method = Method::kJwt, .credential = base::Secret(token(key.thumbprint()))});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "the credential was not accepted");
  EXPECT_EQ(refused.error().detail, "a bound token without a proof of possession");
}

}  // namespace
}  // namespace tool::transport

#include "base/crypto/scram.h"

#include <gtest/gtest.h>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"

namespace base::crypto {
namespace {

// RFC 7677, section 3: user "user", password "pencil".
constexpr std::string_view kSalt = "W22ZaJ0SNY7soEsUEjb6gQ==";
constexpr std::string_view kAuthMessage =
    "n=user,r=rOprNGfwEbeRWgbNEkqO,"
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
    "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
constexpr std::string_view kProof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
constexpr std::string_view kServerSignature = "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

std::string decoded(std::string_view text) { return from_base64(text, 64).value(); }

TEST(ScramVerifier, checks_the_client_and_proves_the_server_of_the_example) {
  const std::string verifier = scram_verifier("pencil", decoded(kSalt));
  const std::string head = "SCRAM-SHA-256$4096:" + std::string(kSalt) + "$";
  ASSERT_TRUE(verifier.starts_with(head)) << verifier;
  const std::string keys = verifier.substr(head.size());
  const std::string stored_key = decoded(keys.substr(0, keys.find(':')));
  const std::string server_key = decoded(keys.substr(keys.find(':') + 1));
  EXPECT_EQ(to_base64(view(hmac_sha256(server_key, kAuthMessage))), kServerSignature);
  // The proof is the client's key, hidden by a signature with the stored one.
  const Digest signature = hmac_sha256(stored_key, kAuthMessage);
  std::string client_key = decoded(kProof);
  for (std::size_t i = 0; i < client_key.size(); ++i) {
    client_key[i] = static_cast<char>(static_cast<unsigned char>(client_key[i]) ^ signature[i]);
  }
  EXPECT_EQ(view(sha256(client_key)), stored_key);
}

TEST(ScramVerifier, is_another_for_another_password_or_salt) {
  const std::string verifier = scram_verifier("pencil", decoded(kSalt));
  EXPECT_NE(scram_verifier("pencil ", decoded(kSalt)), verifier);
  EXPECT_NE(scram_verifier("pencil", "another salt"), verifier);
}

}  // namespace
}  // namespace base::crypto

#include <gtest/gtest.h>
#include <openssl/encoder.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>
#include <thread>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/crypto/signing_key.h"
#include "base/crypto/verify_key.h"

namespace base::crypto {
namespace {

using enum SignatureAlgorithm;
using namespace std::string_literals;

struct Freed {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(EVP_PKEY_CTX* p) const { EVP_PKEY_CTX_free(p); }
  void operator()(BIO* p) const { BIO_free_all(p); }
};
using Key = std::unique_ptr<EVP_PKEY, Freed>;

Key make_rsa(std::size_t bits) { return Key(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits)); }

template <class Write>
std::string pem_of(const Key& key, Write write) {
  std::unique_ptr<BIO, Freed> out(BIO_new(BIO_s_mem()));
  EXPECT_EQ(write(out.get(), key.get()), 1);
  char* text = nullptr;
  long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string pkcs8_of(const Key& key) {
  return pem_of(key, [](BIO* out, EVP_PKEY* k) {
    return PEM_write_bio_PKCS8PrivateKey(out, k, nullptr, nullptr, 0, nullptr, nullptr);
  });
}
std::string pkcs1_of(const Key& key) {
  return pem_of(key, [](BIO* out, EVP_PKEY* k) {
    return PEM_write_bio_PrivateKey_traditional(out, k, nullptr, nullptr, 0, nullptr, nullptr);
  });
}
std::string encrypted_of(const Key& key) {
  return pem_of(key, [](BIO* out, EVP_PKEY* k) {
    std::string word = "password";
    return PEM_write_bio_PKCS8PrivateKey(out, k, EVP_aes_256_cbc(), word.data(),
                                         static_cast<int>(word.size()), nullptr, nullptr);
  });
}
std::string spki_of(const Key& key) {
  return pem_of(key, [](BIO* out, EVP_PKEY* k) { return PEM_write_bio_PUBKEY(out, k); });
}

std::string pkcs1_public_of(const Key& key) {
  return pem_of(key, [](BIO* out, EVP_PKEY* k) {
    auto* encoder =
        OSSL_ENCODER_CTX_new_for_pkey(k, EVP_PKEY_PUBLIC_KEY, "PEM", "type-specific", nullptr);
    int done = OSSL_ENCODER_to_bio(encoder, out);
    OSSL_ENCODER_CTX_free(encoder);
    return done;
  });
}

/// Shared by the tests: making it takes a while.
const Key& rsa_2048() {
  static const Key key = make_rsa(2048);
  return key;
}
const SigningKey& rsa_key() {
  static const SigningKey key = SigningKey::from_pem(pkcs8_of(rsa_2048())).value();
  return key;
}
const SigningKey& ed_key() {
  static const SigningKey key = SigningKey::generate(KeyType::kEd25519);
  return key;
}

std::string pss_with_salt(const Key& key, std::string_view data, int salt, const EVP_MD* mgf1) {
  Digest digest = sha256(data);
  std::unique_ptr<EVP_PKEY_CTX, Freed> context(
      EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
  EVP_PKEY_sign_init(context.get());
  EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_PSS_PADDING);
  EVP_PKEY_CTX_set_signature_md(context.get(), EVP_sha256());
  EVP_PKEY_CTX_set_rsa_mgf1_md(context.get(), mgf1);
  EVP_PKEY_CTX_set_rsa_pss_saltlen(context.get(), salt);
  std::string out(256, '\0');
  std::size_t size = out.size();
  EXPECT_EQ(EVP_PKEY_sign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                          digest.data(), digest.size()),
            1);
  return out;
}

TEST(VerifyKeyTest, takes_the_RS256_signature_of_RFC_7515_A_2) {
  constexpr std::string_view kModulus =
      "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4"
      "d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5re"
      "xMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxX"
      "FvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
  constexpr std::string_view kData =
      "eyJhbGciOiJSUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
      "fQ";
  constexpr std::string_view kSignature =
      "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5"
      "jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb"
      "1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QO"
      "YEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
  auto key = VerifyKey::from_rsa(from_base64url(kModulus, 512).value(), "\x01\x00\x01"s).value();
  std::string signature = from_base64url(kSignature, 512).value();
  EXPECT_TRUE(key.verify(kRs256, kData, signature));
  EXPECT_FALSE(key.verify(kPs256, kData, signature));
  EXPECT_FALSE(key.verify(kEd25519, kData, signature));
  EXPECT_FALSE(key.verify(kRs256, std::string(kData) + "x", signature));
}

TEST(VerifyKeyTest, gives_the_thumbprints_of_RFC_7638_and_RFC_8037) {
  constexpr std::string_view kModulus =
      "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECP"
      "ebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY"
      "368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0f"
      "M4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
  auto rsa = VerifyKey::from_rsa(from_base64url(kModulus, 512).value(), "\x01\x00\x01"s).value();
  EXPECT_EQ(rsa.thumbprint(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
  auto ed = VerifyKey::from_ed25519(
                from_base64url("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", 32).value())
                .value();
  EXPECT_EQ(ed.thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
  EXPECT_EQ(ed.canonical_jwk(),
            R"({"crv":"Ed25519","kty":"OKP","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})");
}

TEST(VerifyKeyTest, takes_the_Ed25519_signature_of_RFC_8037_A_4) {
  auto key = VerifyKey::from_ed25519(
                 from_base64url("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", 32).value())
                 .value();
  std::string_view data = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  std::string signature =
      from_base64url(
          "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
          64)
          .value();
  EXPECT_TRUE(key.verify(kEd25519, data, signature));
  EXPECT_FALSE(key.verify(kEd25519, data.substr(1), signature));
  EXPECT_FALSE(key.verify(kRs256, data, signature));
}

TEST(SigningKeyTest, signatures_are_taken_by_the_public_part_for_that_algorithm_and_data_only) {
  struct Case {
    const SigningKey* key;
    SignatureAlgorithm made, other;
    std::size_t size;
  };
  for (const Case& c :
       {Case{&rsa_key(), kRs256, kPs256, 256}, Case{&rsa_key(), kPs256, kRs256, 256},
        Case{&ed_key(), kEd25519, kRs256, 64}}) {
    std::string signature = c.key->sign(c.made, "data").value();
    const VerifyKey& key = c.key->verify_key();
    EXPECT_EQ(signature.size(), c.size);
    EXPECT_TRUE(key.verify(c.made, "data", signature));
    EXPECT_FALSE(key.verify(c.other, "data", signature));
    EXPECT_FALSE(key.verify(c.made, "datb", signature));
    EXPECT_FALSE(key.verify(c.made, "data", signature.substr(1)));
    EXPECT_FALSE(key.verify(c.made, "data", '\0' + signature));
    EXPECT_FALSE(key.verify(c.made, "data", signature + '\0'));
    EXPECT_FALSE(key.verify(c.made, "data", ""));
    EXPECT_FALSE(key.verify(c.made, "data", std::string(4096, 'x')));
    signature.back() = static_cast<char>(signature.back() ^ 1);
    EXPECT_FALSE(key.verify(c.made, "data", signature));
  }
}

TEST(SigningKeyTest, PS256_has_a_salt_of_32_bytes_and_MGF1_with_SHA_256) {
  const VerifyKey& key = rsa_key().verify_key();
  EXPECT_TRUE(key.verify(kPs256, "data", pss_with_salt(rsa_2048(), "data", 32, EVP_sha256())));
  for (int salt : {0, 20, 31, 33, 222}) {
    EXPECT_FALSE(key.verify(kPs256, "data", pss_with_salt(rsa_2048(), "data", salt, EVP_sha256())))
        << salt;
  }
  EXPECT_FALSE(key.verify(kPs256, "data", pss_with_salt(rsa_2048(), "data", 32, EVP_sha1())));
  EXPECT_NE(rsa_key().sign(kPs256, "data").value(), rsa_key().sign(kPs256, "data").value());
  EXPECT_EQ(rsa_key().sign(kRs256, "data").value(), rsa_key().sign(kRs256, "data").value());
}

TEST(SigningKeyTest, a_key_signs_only_with_algorithms_of_its_type) {
  EXPECT_EQ(rsa_key().sign(kEd25519, "x").error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(ed_key().sign(kRs256, "x").error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(ed_key().sign(kPs256, "x").error().kind(), ErrorKind::kInvalid);
}

TEST(SigningKeyTest, is_read_from_PKCS8_and_PKCS1_and_written_as_PKCS8) {
  for (const std::string& pem : {pkcs8_of(rsa_2048()), pkcs1_of(rsa_2048())}) {
    auto key = SigningKey::from_pem(pem);
    ASSERT_TRUE(key);
    EXPECT_EQ(key->thumbprint(), rsa_key().thumbprint());
    EXPECT_EQ(key->to_pem().reveal(), pkcs8_of(rsa_2048()));
  }
  auto again = SigningKey::from_pem(ed_key().to_pem().reveal());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->thumbprint(), ed_key().thumbprint());
  for (const std::string& pem : {rsa_key().verify_key().to_pem(), pkcs1_public_of(rsa_2048())}) {
    auto verify = VerifyKey::from_pem(pem);
    ASSERT_TRUE(verify) << pem;
    EXPECT_EQ(verify->thumbprint(), rsa_key().thumbprint());
    EXPECT_EQ(verify->to_pem(), spki_of(rsa_2048()));
  }
}

// Other curves are refused as well.
TEST(SigningKeyTest, a_key_of_P256_is_read_where_it_is_asked_for) {
  auto key = SigningKey::generate(KeyType::kP256);
  auto read = SigningKey::from_pem(key.to_pem().reveal(), P256::kAccepted);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->type(), KeyType::kP256);
  EXPECT_EQ(read->thumbprint(), key.thumbprint());
  auto signature = read->sign(SignatureAlgorithm::kEs256, "x");
  ASSERT_TRUE(signature);
  EXPECT_EQ(signature->size(), 64U);
  EXPECT_TRUE(key.verify_key().verify(SignatureAlgorithm::kEs256, "x", *signature));
  EXPECT_FALSE(SigningKey::from_pem(key.to_pem().reveal()));
  for (const char* curve : {"P-384", "secp256k1"}) {
    Key other(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve));
    EXPECT_FALSE(SigningKey::from_pem(pkcs8_of(other), P256::kAccepted)) << curve;
  }
  EXPECT_TRUE(SigningKey::from_pem(pkcs8_of(rsa_2048()), P256::kAccepted));
  EXPECT_TRUE(SigningKey::from_pem(ed_key().to_pem().reveal(), P256::kAccepted));
}

TEST(SigningKeyTest, a_generated_RSA_key_has_3072_bits) {
  auto key = SigningKey::generate(KeyType::kRsa);
  EXPECT_EQ(key.sign(kPs256, "x")->size(), 384U);
  EXPECT_TRUE(SigningKey::from_pem(key.to_pem().reveal()));
}

TEST(KeyPemTest, sizes_from_2048_bits_on_are_taken) {
  for (std::size_t bits : {1024U, 2047U, 2048U}) {
    Key key = make_rsa(bits);
    EXPECT_EQ(SigningKey::from_pem(pkcs8_of(key)).has_value(), bits >= 2048) << bits;
    EXPECT_EQ(VerifyKey::from_pem(spki_of(key)).has_value(), bits >= 2048) << bits;
  }
}

TEST(KeyPemTest, refuses_what_is_not_one_plain_key_of_a_known_kind) {
  Key ec(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  Key pss(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED448"));
  std::string good = pkcs8_of(rsa_2048());
  std::string cut = good;
  cut.erase(cut.size() / 2, 64);
  struct Case {
    std::string name, pem;
  };
  for (const Case& c : {
           Case{"empty", ""},
           Case{"no PEM", "a key"},
           Case{"a public key for a private one", spki_of(rsa_2048())},
           Case{"EC, PKCS#8", pkcs8_of(ec)},
           Case{"EC, its own form", pkcs1_of(ec)},
           Case{"Ed448", pkcs8_of(pss)},
           Case{"encrypted, PKCS#8", encrypted_of(rsa_2048())},
           Case{"encrypted, old form",
                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
                "AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n"},
           Case{"two keys", good + good},
           Case{"cut out", cut},
           Case{"no end", good.substr(0, good.size() / 2)},
           Case{"a certificate's label",
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
           Case{"over 64 KiB", good + std::string(64 * 1024, '\n')},
       }) {
    auto key = SigningKey::from_pem(c.pem);
    ASSERT_FALSE(key) << c.name;
    EXPECT_EQ(key.error().kind(), ErrorKind::kInvalid) << c.name;
  }
  EXPECT_FALSE(VerifyKey::from_pem(good));
  EXPECT_FALSE(VerifyKey::from_pem(spki_of(ec)));
}

TEST(KeyNumbersTest, an_RSA_key_has_an_odd_exponent_from_3_to_64_bits_and_an_odd_modulus) {
  std::string modulus(256, '\xff');
  struct Case {
    std::string name, modulus, exponent;
    bool valid;
  };
  for (const Case& c : {
           Case{"65537", modulus, "\x01\x00\x01"s, true},
           Case{"3", modulus, "\x03", true},
           Case{"64 bits", modulus, std::string(8, '\xff'), true},
           Case{"1", modulus, "\x01", false},
           Case{"0", modulus, "\0"s, false},
           Case{"none", modulus, "", false},
           Case{"even", modulus, "\x01\x00\x02"s, false},
           Case{"65 bits", modulus, '\x01' + std::string(8, '\xff'), false},
           Case{"leading zero of e", modulus, "\0\x01\x00\x01"s, false},
           Case{"leading zero of n", '\0' + modulus, "\x01\x00\x01"s, false},
           Case{"even modulus", std::string(255, '\xff') + '\xfe', "\x03", false},
           Case{"2047 bits", '\x7f' + std::string(255, '\xff'), "\x03", false},
           Case{"8192 bits", std::string(1024, '\xff'), "\x03", true},
           Case{"8193 bits", '\x01' + std::string(1024, '\xff'), "\x03", false},
           Case{"no modulus", "", "\x03", false},
       }) {
    EXPECT_EQ(VerifyKey::from_rsa(c.modulus, c.exponent).has_value(), c.valid) << c.name;
  }
  for (std::size_t size : {0U, 31U, 33U}) {
    EXPECT_FALSE(VerifyKey::from_ed25519(std::string(size, 'x'))) << size;
  }
}

TEST(KeyTest, copies_serve_many_threads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, key = rsa_key()] {
      for (int i = 0; i < 30; ++i) {
        auto algorithm = i % 2 == 0 ? kPs256 : kRs256;
        std::string data = std::to_string(i);
        wrong += !key.verify_key().verify(algorithm, data, key.sign(algorithm, data).value());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace base::crypto

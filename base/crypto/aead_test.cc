#include "base/crypto/aead.h"

#include <gtest/gtest.h>

#include "base/crypto/encoding.h"

namespace base::crypto {
namespace {

using Algorithm = Aead::Algorithm;

std::string unhex(std::string_view text) { return from_hex(text, 4096).value(); }

Aead::Nonce nonce_of(std::string_view text) {
  std::string bytes = unhex(text);
  Aead::Nonce out;
  EXPECT_EQ(bytes.size(), out.size());
  std::copy_n(bytes.begin(), out.size(), out.begin());
  return out;
}

struct Vector {
  std::string name;
  Algorithm algorithm;
  std::string key, nonce, aad, plaintext, sealed;
};

std::string text_hex(std::string_view text) { return to_hex(text); }

// AES-256: "The Galois/Counter Mode of Operation (GCM)", appendix B, test cases
// 13 to 16. ChaCha20-Poly1305: RFC 8439, section 2.8.2.
const std::vector<Vector>& vectors() {
  static const std::string kPlain =
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
      "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
  static const std::string kCipher =
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
      "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662";
  static const std::string kKey =
      "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
  static const std::vector<Vector> all{
      {"gcm 13", Algorithm::kAes256Gcm, std::string(64, '0'), std::string(24, '0'), "", "",
       "530f8afbc74536b9a963b4f1c4cb738b"},
      {"gcm 14", Algorithm::kAes256Gcm, std::string(64, '0'), std::string(24, '0'), "",
       std::string(32, '0'), "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
      {"gcm 15", Algorithm::kAes256Gcm, kKey, "cafebabefacedbaddecaf888", "", kPlain + "1aafd255",
       kCipher + "898015adb094dac5d93471bdec1a502270e3cc6c"},
      {"gcm 16", Algorithm::kAes256Gcm, kKey, "cafebabefacedbaddecaf888",
       "feedfacedeadbeeffeedfacedeadbeefabaddad2", kPlain,
       kCipher + "76fc6ece0f4e1768cddf8853bb2d551b"},
      {"rfc 8439", Algorithm::kChaCha20Poly1305,
       "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
       "070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
       text_hex("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for "
                "the future, sunscreen would be it."),
       "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
       "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
       "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
       "3ff4def08e4b7a9de576d26586cec64b6116"
       "1ae10b594f09e26a7e902ecbd0600691"},
  };
  return all;
}

TEST(AeadTest, seals_and_opens_the_published_vectors_again_and_again) {
  for (const auto& v : vectors()) {
    Aead aead = Aead::create(v.algorithm, unhex(v.key)).value();
    auto nonce = nonce_of(v.nonce);
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(to_hex(aead.seal(nonce, unhex(v.aad), unhex(v.plaintext))), v.sealed) << v.name;
      auto opened = aead.open(nonce, unhex(v.aad), unhex(v.sealed));
      ASSERT_TRUE(opened) << v.name;
      EXPECT_EQ(to_hex(*opened), v.plaintext) << v.name;
    }
  }
}

class AeadOf : public ::testing::TestWithParam<Algorithm> {
 protected:
  Aead aead = Aead::create(GetParam(), std::string(32, 'k')).value();
  Aead::Nonce nonce{1, 2, 3};
};
INSTANTIATE_TEST_SUITE_P(Algorithms, AeadOf,
                         ::testing::Values(Algorithm::kAes256Gcm, Algorithm::kChaCha20Poly1305));

TEST_P(AeadOf, any_changed_bit_is_refused_and_the_next_record_still_opens) {
  std::string sealed = aead.seal(nonce, "aad", "a record");
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string wrong = sealed;
    wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ (1 << bit % 8));
    auto opened = aead.open(nonce, "aad", wrong);
    ASSERT_FALSE(opened) << bit;
    EXPECT_EQ(opened.error().kind(), ErrorKind::kInvalid);
  }
  EXPECT_EQ(aead.open(nonce, "aad", sealed), "a record");
}

TEST_P(AeadOf, refuses_another_nonce_aad_key_or_algorithm_and_any_cut) {
  std::string sealed = aead.seal(nonce, "aad", "a record");
  EXPECT_FALSE(aead.open({1, 2, 4}, "aad", sealed));
  EXPECT_FALSE(aead.open(nonce, "aae", sealed));
  EXPECT_FALSE(aead.open(nonce, "", sealed));
  EXPECT_FALSE(Aead::create(GetParam(), std::string(32, 'j'))->open(nonce, "aad", sealed));
  auto other =
      GetParam() == Algorithm::kAes256Gcm ? Algorithm::kChaCha20Poly1305 : Algorithm::kAes256Gcm;
  EXPECT_FALSE(Aead::create(other, std::string(32, 'k'))->open(nonce, "aad", sealed));
  EXPECT_FALSE(aead.open(nonce, "aad", sealed + 'x'));
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_FALSE(aead.open(nonce, "aad", sealed.substr(0, size))) << size;
  }
}

TEST_P(AeadOf, sizes_from_nothing_to_many_blocks_come_back) {
  for (std::size_t size : {0U, 1U, 15U, 16U, 17U, 255U, 256U, 4096U, 1U << 20}) {
    std::string plain(size, 'p');
    std::string sealed = aead.seal(nonce, plain, plain);
    EXPECT_EQ(sealed.size(), size + Aead::kTagBytes);
    EXPECT_EQ(aead.open(nonce, plain, sealed), plain) << size;
  }
}

TEST_P(AeadOf, the_appending_forms_keep_what_was_there) {
  std::string record = "head";
  aead.seal_into(nonce, "aad", "plain", record);
  EXPECT_EQ(record, "head" + aead.seal(nonce, "aad", "plain"));
  std::string out = "before ";
  std::string_view sealed = std::string_view(record).substr(4);
  EXPECT_TRUE(aead.open_into(nonce, "aad", sealed, out));
  EXPECT_EQ(out, "before plain");
  EXPECT_FALSE(aead.open_into(nonce, "other", sealed, out));
  EXPECT_EQ(out, "before plain");
  EXPECT_FALSE(aead.open_into(nonce, "aad", sealed.substr(0, 15), out));
  EXPECT_EQ(out, "before plain");
}

TEST_P(AeadOf, a_moved_cipher_works_on) {
  std::string sealed = aead.seal(nonce, "", "x");
  Aead moved = std::move(aead);
  EXPECT_EQ(moved.open(nonce, "", sealed), "x");
  aead = std::move(moved);
  EXPECT_EQ(aead.open(nonce, "", sealed), "x");
}

TEST(AeadTest, one_way_ciphers_work_together_and_abort_the_other_way) {
  std::string key(Aead::kKeyBytes, 'k');
  auto sealer = Aead::create(Algorithm::kAes256Gcm, key, Aead::Use::kSealing);
  auto opener = Aead::create(Algorithm::kAes256Gcm, key, Aead::Use::kOpening);
  ASSERT_TRUE(sealer && opener);
  Aead::Nonce one{1};
  std::string sealed = sealer->seal(one, "aad", "plain");
  EXPECT_EQ(opener->open(one, "aad", sealed), "plain");
  EXPECT_DEATH((void)sealer->open(one, "aad", sealed), "");
  EXPECT_DEATH((void)opener->seal(one, "aad", "plain"), "");
}

TEST(AeadTest, a_key_must_be_32_bytes) {
  for (std::size_t size : {0U, 16U, 31U, 33U, 64U}) {
    auto made = Aead::create(Algorithm::kAes256Gcm, std::string(size, 'k'));
    ASSERT_FALSE(made) << size;
    EXPECT_EQ(made.error().kind(), ErrorKind::kInvalid);
  }
}

}  // namespace
}  // namespace base::crypto

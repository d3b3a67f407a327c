#include "toolserver/settings/secret_strength.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

namespace tool::settings {
namespace {

// Random looking and nowhere else in use.
constexpr std::string_view kGood = "pX3v9Lq2RzT8mKc5WbN7yHd4JfG6sAeU";

struct Case {
  const char* name;
  std::string_view secret;
  Weakness weakness;
};

TEST(SecretStrengthTest, each_weakness_is_told) {
  using enum Weakness;
  for (
      const auto& c : std::initializer_list<Case>{
          {"empty", "", kShort},
          {"one character short", kGood.substr(1), kShort},
          {"changeme", "changeme", kPlaceholder},
          {"changeme drawn out", "CHANGE_ME-CHANGE_ME-CHANGE_ME-CHANGE_ME", kPlaceholder},
          {"your secret here", "your-secret-here", kPlaceholder},
          {"your secret key here, long", "your-32-char-secret-key-here-9f27ac61b0", kPlaceholder},
          {"replace me", "replace-me-with-32-random-characters", kPlaceholder},
          {"says what it must be", "must_be_at_least_32_characters_long!", kPlaceholder},
          {"example in a random one", "pX3v9Lq2RzT8mKc5EXAMPLEWbN7yHd4JfG6", kPlaceholder},
          {"password", "Password-Password-1234-Password!", kPlaceholder},
          {"template", "<put 32 fresh characters in here>", kPlaceholder},
          {"variable that was not replaced", "${SECRET_KEY_FROM_THE_VAULT_OF_PROD}", kPlaceholder},
          {"braces that were not replaced", "{{ .Values.service.key.of.this.node }}", kPlaceholder},
          {"debugger of JWTs", "your-256-bit-secret", kPublished},
          {"debugger of JWTs, new", "a-string-secret-at-least-256-bits-long", kPublished},
          {"RFC 7515 A.1",
           "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
           kPublished},
          {"RFC 7520 3.5", "hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg", kPublished},
          {"RFC 7520 3.5 with padding", "hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg=", kPublished},
          {"a framework's manual",
           "09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7", kPublished},
          {"the same in capitals",
           "09D25E094FAA6CA2556C818166B7A9563B93F7099F6F0F4CAA6CF63B88E8D3E7", kPublished},
          {"hash of nothing", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
           kPublished},
          {"one character", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", kRepetitive},
          {"two characters", "abababababababababababababababababababab", kRepetitive},
          {"a group again and again", "k7Qz-k7Qz-k7Qz-k7Qz-k7Qz-k7Qz-k7Qz-k7Qz", kRepetitive},
          {"half of it twice", "T8mKc5WbT8mKc5WbT8mKc5WbT8mKc5Wb", kRepetitive},
          {"digits up", "01234567890123456789012345678901", kSequential},
          {"letters up", "abcdefghijklmnopqrstuvwxyzabcdefgh", kSequential},
          {"hexadecimal digits up", "000102030405060708090a0b0c0d0e0f", kSequential},
          {"letters down", "zyxwvutsrqponmlkjihgfedcbazyxwvuts", kSequential},
          {"keyboard", "qwertyuiopasdfghjklzxcvbnmqwertyui", kKeyboard},
          {"keyboard in columns", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,", kKeyboard},
          {"two characters in disorder", "abbabaaabbabbaababbbabaababbaabb", kRepetitive},
          {"three characters in disorder", "2xkxx2k22kxxkkxk2xkk2xx2x2xk2kkx22", kPredictable},
      }) {
    auto found = weakness_of(c.secret, 32);
    ASSERT_TRUE(found.has_value()) << c.name;
    EXPECT_EQ(*found, c.weakness) << c.name;
  }
}

TEST(SecretStrengthTest, length_is_checked_at_both_ends) {
  EXPECT_EQ(kGood.size(), 32U);
  EXPECT_EQ(weakness_of(kGood, 32), std::nullopt);
  EXPECT_EQ(weakness_of(kGood.substr(0, 31), 32), Weakness::kShort);
  EXPECT_EQ(weakness_of(kGood.substr(0, 16), 16), std::nullopt);
  EXPECT_EQ(weakness_of(kGood.substr(0, 15), 16), Weakness::kShort);
}

TEST(SecretStrengthTest, length_counts_characters_not_bytes) {
  EXPECT_EQ(weakness_of("ébñöçüàèìòùâêîôû", 32), Weakness::kShort);
}

// What the usual generators give must pass, or operators would weaken it.
TEST(SecretStrengthTest, random_secrets_pass) {
  struct Form {
    const char* name;
    std::string_view alphabet;
    std::size_t length;
  };
  std::mt19937_64 random(20261121);
  for (const auto& form : std::initializer_list<Form>{
           {"16 hexadecimal digits", "0123456789abcdef", 16},
           {"24 hexadecimal digits", "0123456789abcdef", 24},
           {"32 hexadecimal digits", "0123456789abcdef", 32},
           {"64 hexadecimal digits", "0123456789abcdef", 64},
           {"16 base64", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 16},
           {"32 base64url", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 32},
           {"64 base64url", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 64},
           {"32 small letters", "abcdefghijklmnopqrstuvwxyz", 32},
       }) {
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
      std::string secret;
      for (std::size_t j = 0; j < form.length; ++j) {
        secret += form.alphabet[random() % form.alphabet.size()];
      }
      if (weakness_of(secret, form.length)) ++refused;
    }
    EXPECT_LE(refused, 2) << form.name;
  }
}

TEST(SecretStrengthTest, a_pattern_has_fewer_bits_than_chance) {
  EXPECT_EQ(estimated_bits(""), 0);
  EXPECT_LT(estimated_bits("aaaaaaaaaaaaaaaa"), 20);
  EXPECT_LT(estimated_bits("abcdefghijklmnop"), 20);
  EXPECT_GT(estimated_bits(kGood), 140);
}

TEST(SecretStrengthTest, secrets_of_others_are_checked_for_what_is_known) {
  EXPECT_EQ(known_weakness_of("changeme"), Weakness::kPlaceholder);
  EXPECT_EQ(known_weakness_of("keyboard cat"), Weakness::kPublished);
  EXPECT_EQ(known_weakness_of("k7"), std::nullopt);
}

}  // namespace
}  // namespace tool::settings

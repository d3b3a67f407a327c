#include "base/crypto/password_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace base::crypto {
namespace {

// Of "open sesame". Made with libxcrypt 4.4.33 and libargon2 20171227.
constexpr std::string_view kBcrypt = "$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW";
constexpr std::string_view kArgon2 =
    "$argon2id$v=19$m=1024,t=2,p=1$c2FsdHNhbHRzYWx0$0iePWWZuL+UGVOmRxFk7m0gJMioww6rULm+/nzPSM4Q";

std::string with(std::string_view text, std::string_view part, std::string_view other) {
  std::string changed(text);
  return changed.replace(changed.find(part), part.size(), other);
}

TEST(PasswordHash, takes_the_password_it_was_made_of_and_no_other) {
  for (std::string_view hash : {kBcrypt, kArgon2}) {
    SCOPED_TRACE(hash);
    EXPECT_EQ(password_form(hash), PasswordForm::kHash);
    EXPECT_TRUE(matches_hash(hash, "open sesame"));
    EXPECT_FALSE(matches_hash(hash, "open sesame "));
    EXPECT_FALSE(matches_hash(hash, "Open sesame"));
    EXPECT_FALSE(matches_hash(hash, ""));
    EXPECT_FALSE(matches_hash(hash, hash)) << "the hash is no password";
    EXPECT_FALSE(matches_hash(hash, std::string("open sesame\0x", 13)));
  }
}

TEST(PasswordHash, bcrypt_does_not_pass_over_the_end_of_a_long_password) {
  EXPECT_FALSE(matches_hash(kBcrypt, std::string(73, 'a')));
}

TEST(PasswordHash, tells_plain_passwords_hashes_and_unknown_ones_apart) {
  struct Case {
    std::string stored;
    PasswordForm form;
  };
  const Case cases[] = {
      {"", PasswordForm::kPlain},
      {"a plain secret", PasswordForm::kPlain},
      {"a$2b$05$", PasswordForm::kPlain},
      {"$", PasswordForm::kUnknown},
      {"$6$salt$hash", PasswordForm::kUnknown},
      {"$argon2i$v=19$m=1024,t=2,p=1$c2FsdA$aGFzaA", PasswordForm::kUnknown},
      {with(kArgon2, "m=1024", "m=262145"), PasswordForm::kUnknown},
      {with(kArgon2, "m=1024", "m=262144"), PasswordForm::kHash},
      {with(kArgon2, "t=2", "t=17"), PasswordForm::kUnknown},
      {with(kArgon2, "p=1", "p=0"), PasswordForm::kUnknown},
      {with(kArgon2, "v=19", "v=16"), PasswordForm::kUnknown},
      {std::string(kArgon2.substr(0, kArgon2.rfind('$'))), PasswordForm::kUnknown},
      {with(kBcrypt, "$05$", "$16$"), PasswordForm::kUnknown},
      {with(kBcrypt, "$05$", "$15$"), PasswordForm::kHash},
      {std::string(kBcrypt.substr(0, 59)), PasswordForm::kUnknown},
      {with(kBcrypt, "$2b$", "$2c$"), PasswordForm::kUnknown},
  };
  for (const Case& c : cases) EXPECT_EQ(password_form(c.stored), c.form) << c.stored;
}

}  // namespace
}  // namespace base::crypto

#pragma once

// Hashes of passwords as they are kept in a file: a reader of the file has to guess each password
// anew, and each guess is slow. Slow here as well: tens of milliseconds and, for Argon2, as much
// memory as the hash says, so never on an event loop.
// Sources: RFC 9106 and its reference encoding; crypt(5) of libxcrypt.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/clock.h"

namespace base::crypto {

enum class PasswordForm : std::uint8_t {
  kPlain,    ///< No hash: the password itself.
  kHash,     ///< "$argon2id$...", "$2a$...", "$2b$..." or "$2y$...", whole and within bounds.
  kUnknown,  ///< Begins as hashes do, and is none that can be checked.
};
/// A hash may cost 256 MiB, 16 passes and a bcrypt cost of 15 at most.
[[nodiscard]] PasswordForm password_form(std::string_view stored);

/// A new hash of `password`, with 16 bytes of salt: "$argon2id$v=19$m=19456,t=2,p=1$...".
/// Source: OWASP Password Storage Cheat Sheet, "Argon2id".
[[nodiscard]] std::string hash_password(std::string_view password, Random& random);

/// Whether `password` leads to `hash`, of form kHash. False for a password that holds U+0000,
/// and for bcrypt over 72 bytes: it would look at the first ones alone.
[[nodiscard]] bool matches_hash(std::string_view hash, std::string_view password);

}  // namespace base::crypto

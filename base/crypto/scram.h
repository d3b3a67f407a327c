#pragma once

// What a server stores of a password for SCRAM-SHA-256. Whoever sends PostgreSQL this in place of
// the password has it in no log of statements, there or on the way.
// Sources: RFC 5802, section 3; RFC 7677; PostgreSQL 15, "pg_authid".

#include <string>
#include <string_view>

namespace base::crypto {

/// "SCRAM-SHA-256$4096:<salt>$<StoredKey>:<ServerKey>". The password is ASCII, which no rule of
/// SASLprep changes. Takes as long as 4,096 MACs.
[[nodiscard]] std::string scram_verifier(std::string_view password, std::string_view salt);

}  // namespace base::crypto

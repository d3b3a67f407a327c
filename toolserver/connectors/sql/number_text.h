#pragma once

// Decimal digits of integers that are wider than 64 bits.

#include <duckdb.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tool::connectors {

[[nodiscard]] std::string hugeint_text(const duckdb_hugeint& value);
[[nodiscard]] std::string uhugeint_text(const duckdb_uhugeint& value);
/// `value` / 10^scale with all digits of the scale: "-0.50".
[[nodiscard]] std::string decimal_text(__int128 value, unsigned scale);
/// Of the engine's BIGNUM bytes: a header of three (the sign, as the top bit,
/// and the length), then the magnitude with its most significant byte first;
/// all of them inverted for a negative number.
[[nodiscard]] std::string bignum_text(std::string_view bytes);
/// Of the engine's BIT bytes: the number of bits to skip, then the bits.
[[nodiscard]] std::string bit_text(std::string_view bytes);

}  // namespace tool::connectors

#include "toolserver/connectors/sql/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tool::connectors {
namespace {

using Wide = unsigned __int128;

std::string digits(Wide value) {
  std::string text;
  do {
    text += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  std::ranges::reverse(text);
  return text;
}

// Also of the smallest number, which has no positive twin.
Wide magnitude(__int128 value) {
  return value < 0 ? Wide{0} - static_cast<Wide>(value) : static_cast<Wide>(value);
}

Wide join(std::uint64_t upper, std::uint64_t lower) { return (Wide{upper} << 64) | lower; }

}  // namespace

std::string hugeint_text(const duckdb_hugeint& value) {
  return decimal_text(
      static_cast<__int128>(join(static_cast<std::uint64_t>(value.upper), value.lower)), 0);
}

std::string uhugeint_text(const duckdb_uhugeint& value) {
  return digits(join(value.upper, value.lower));
}

std::string decimal_text(__int128 value, unsigned scale) {
  std::string text = digits(magnitude(value));
  if (scale > 0) {
    if (text.size() <= scale) text.insert(0, scale + 1 - text.size(), '0');
    text.insert(text.size() - scale, 1, '.');
  }
  return value < 0 ? "-" + text : text;
}

std::string bignum_text(std::string_view bytes) {
  constexpr std::size_t kHeader = 3;
  constexpr std::uint32_t kBase = 1'000'000'000;
  if (bytes.size() <= kHeader) return "0";
  bool negative = (static_cast<unsigned char>(bytes[0]) & 0x80) == 0;
  // Little-endian groups of nine digits.
  std::vector<std::uint32_t> groups{0};
  for (char c : bytes.substr(kHeader)) {
    auto byte = static_cast<unsigned char>(negative ? ~c : c);
    std::uint64_t carry = byte;
    for (std::uint32_t& group : groups) {
      std::uint64_t next = std::uint64_t{group} * 256 + carry;
      group = static_cast<std::uint32_t>(next % kBase);
      carry = next / kBase;
    }
    if (carry != 0) groups.push_back(static_cast<std::uint32_t>(carry));
  }
  std::string text = fmt::format("{}", groups.back());
  for (auto group = groups.rbegin() + 1; group != groups.rend(); ++group) {
    text += fmt::format("{:09}", *group);
  }
  return negative ? "-" + text : text;
}

std::string bit_text(std::string_view bytes) {
  if (bytes.empty()) return "";
  auto skipped = static_cast<unsigned char>(bytes[0]);
  std::string text;
  for (char c : bytes.substr(1)) {
    for (int bit = 7; bit >= 0; --bit) {
      text += (static_cast<unsigned char>(c) >> bit & 1) != 0 ? '1' : '0';
    }
  }
  return text.substr(std::min<std::size_t>(skipped, text.size()));
}

}  // namespace tool::connectors

#include "toolserver/model/ulid.h"

#include <chrono>
#include <cstdint>

namespace tool {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

constexpr auto kAllowed = [] {
  std::array<bool, 256> table{};
  for (char c : kAlphabet) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

}  // namespace

base::Result<Ulid> Ulid::parse(std::string_view text) {
  bool good = text.size() == kChars && text[0] <= '7';
  for (char c : text) good = good && kAllowed[static_cast<unsigned char>(c)];
  if (!good) return base::fail(base::ErrorKind::kInvalid, "must be a ULID");
  Ulid id;
  text.copy(id.text_.data(), kChars);
  return id;
}

Ulid Ulid::make(base::WallTime now, base::Random& random) {
  auto since = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
  auto number = static_cast<unsigned __int128>(since & 0xFFFF'FFFF'FFFF);
  std::array<std::byte, 10> chance{};
  random.fill(chance);
  for (std::byte byte : chance) number = number << 8 | std::to_integer<unsigned>(byte);
  Ulid id;
  for (std::size_t i = kChars; i-- > 0; number >>= 5) {
    id.text_[i] = kAlphabet[static_cast<std::size_t>(number & 31)];
  }
  return id;
}

}  // namespace tool

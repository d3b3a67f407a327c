#include "base/crypto/encoding.h"

#include <array>
#include <cstdint>

#include "base/core/text.h"

namespace base::crypto {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::uint8_t kNone = 0xff;

using Values = std::array<std::uint8_t, 256>;

// What each character stands for in an alphabet, kNone outside it.
constexpr Values values_of(std::string_view alphabet) {
  Values out{};
  out.fill(kNone);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    out[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return out;
}

constexpr Values kBase64Values = values_of(kBase64);
constexpr Values kBase64UrlValues = values_of(kBase64Url);
constexpr Values kHexValues = values_of(kHex);

std::uint32_t byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

std::string encode(std::string_view bytes, std::string_view alphabet) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  auto put = [&](std::uint32_t group, int digits) {
    for (int i = 0; i < digits; ++i) out += alphabet[(group >> (18 - 6 * i)) & 63];
  };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    put(byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2), 4);
  }
  if (bytes.size() - i == 1) put(byte_at(bytes, i) << 16, 2);
  if (bytes.size() - i == 2) put(byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8, 3);
  return out;
}

Error not_encoded(std::string_view encoding) {
  return fail(ErrorKind::kInvalid, "must be " + std::string(encoding));
}

Error too_long(std::size_t max_bytes) {
  return fail(ErrorKind::kTooLarge,
              "must stand for at most " + std::to_string(max_bytes) + " bytes");
}

// Text without padding.
Result<std::string> decode(std::string_view text, const Values& values, std::string_view encoding,
                           std::size_t max_bytes) {
  std::size_t size = text.size() / 4 * 3 + text.size() % 4 * 3 / 4;
  if (size > max_bytes) return too_long(max_bytes);
  if (text.size() % 4 == 1) return not_encoded(encoding);
  std::string out;
  out.reserve(size);
  std::uint32_t held = 0;  // Bits not yet put out, at the low end.
  int bits = 0;
  for (char c : text) {
    std::uint8_t value = values[static_cast<unsigned char>(c)];
    if (value == kNone) return not_encoded(encoding);
    held = (held << 6 | value) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(held >> bits & 0xff);
  }
  // Trailing bits that are not zero would give one byte string several texts.
  if ((held & ((1U << bits) - 1)) != 0) return not_encoded(encoding);
  return out;
}

}  // namespace

std::string to_base64url(std::string_view bytes) { return encode(bytes, kBase64Url); }

Result<std::string> from_base64url(std::string_view text, std::size_t max_bytes) {
  return decode(text, kBase64UrlValues, "base64url without padding", max_bytes);
}

std::string to_base64(std::string_view bytes) {
  std::string out = encode(bytes, kBase64);
  out.append((4 - out.size() % 4) % 4, '=');
  return out;
}

Result<std::string> from_base64(std::string_view text, std::size_t max_bytes) {
  if (text.size() % 4 != 0) return not_encoded("base64");
  if (text.ends_with("==")) {
    text.remove_suffix(2);
  } else if (text.ends_with('=')) {
    text.remove_suffix(1);
  }
  return decode(text, kBase64Values, "base64", max_bytes);
}

std::string to_hex(std::string_view bytes) {
  return base::to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

Result<std::string> from_hex(std::string_view text, std::size_t max_bytes) {
  if (text.size() / 2 > max_bytes) return too_long(max_bytes);
  if (text.size() % 2 != 0) return not_encoded("lower-case hexadecimal");
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    std::uint8_t high = kHexValues[static_cast<unsigned char>(text[i])];
    std::uint8_t low = kHexValues[static_cast<unsigned char>(text[i + 1])];
    if (high == kNone || low == kNone) return not_encoded("lower-case hexadecimal");
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

}  // namespace base::crypto

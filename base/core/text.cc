#include "base/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace base {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// Length of the well-formed sequence at the start of `s`, or 0.
std::size_t utf8_sequence(std::string_view s) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  auto tail = [&](std::size_t i, unsigned lo, unsigned hi) {
    return i < s.size() && byte(i) >= lo && byte(i) <= hi;
  };
  unsigned b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xC2 && b <= 0xDF) return tail(1, 0x80, 0xBF) ? 2 : 0;
  if (b >= 0xE0 && b <= 0xEF) {
    unsigned lo = b == 0xE0 ? 0xA0 : 0x80;
    unsigned hi = b == 0xED ? 0x9F : 0xBF;
    return tail(1, lo, hi) && tail(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (b >= 0xF0 && b <= 0xF4) {
    unsigned lo = b == 0xF0 ? 0x90 : 0x80;
    unsigned hi = b == 0xF4 ? 0x8F : 0xBF;
    return tail(1, lo, hi) && tail(2, 0x80, 0xBF) && tail(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::optional<std::int64_t> parse_int64(std::string_view text) {
  std::int64_t value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string out(bytes.size() * 2, '0');
  char* to = out.data();
  for (auto b : bytes) {
    *to++ = kHex[b >> 4];
    *to++ = kHex[b & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    int hi = hex_digit(text[i]);
    int lo = hex_digit(text[i + 1]);
    if (hi < 0 || lo < 0) return std::nullopt;
    out.push_back(static_cast<char>(hi << 4 | lo));
  }
  return out;
}

std::string to_string(const Uuid& uuid) {
  std::string hex = to_hex(uuid);
  return hex.substr(0, 8) + '-' + hex.substr(8, 4) + '-' + hex.substr(12, 4) + '-' +
         hex.substr(16, 4) + '-' + hex.substr(20);
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::string hex;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash != (text[i] == '-')) return std::nullopt;
    if (!dash) hex.push_back(text[i]);
  }
  auto bytes = from_hex(hex);
  if (!bytes) return std::nullopt;
  Uuid uuid;
  for (std::size_t i = 0; i < uuid.size(); ++i) uuid[i] = static_cast<std::uint8_t>((*bytes)[i]);
  return uuid;
}

std::string percent_encode(std::string_view text, Slash slash) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (is_unreserved(c) || (c == '/' && slash == Slash::kKeep)) {
      out.push_back(c);
      continue;
    }
    auto b = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back("0123456789ABCDEF"[b >> 4]);
    out.push_back("0123456789ABCDEF"[b & 15]);
  }
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    int hi = hex_digit(text[i + 1]);
    int lo = hex_digit(text[i + 2]);
    if (hi < 0 || lo < 0) return std::nullopt;
    out.push_back(static_cast<char>(hi << 4 | lo));
    i += 2;
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    // Most text is ASCII for long stretches: eight characters at a time.
    std::uint64_t word = 0;
    while (text.size() >= sizeof word) {
      std::memcpy(&word, text.data(), sizeof word);
      if ((word & 0x8080808080808080) != 0) break;
      text.remove_prefix(sizeof word);
    }
    if (text.empty()) return true;
    std::size_t n = utf8_sequence(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

namespace {

// The code point at the start of `text` and its bytes; no bytes when it is not
// UTF-8.
std::pair<char32_t, std::size_t> first_code_point(std::string_view text) {
  auto lead = static_cast<unsigned char>(text[0]);
  std::size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (size > text.size() || !is_utf8(text.substr(0, size))) return {0, 0};
  char32_t point = size == 1 ? lead : lead & (0xff >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    point = (point << 6) | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  return {point, size};
}

// Source: Unicode 16, sections 23.1 and 23.2; UAX 9, section 2.
bool moves_the_terminal(char32_t point) {
  if (point == U'\n' || point == U'\t') return false;
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x061c ||
         (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

}  // namespace

std::string for_terminal(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    auto [point, size] = first_code_point(text);
    if (size == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (moves_the_terminal(point)) {
      out += point < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(point))
                           : fmt::format("\\u{:04x}", static_cast<unsigned>(point));
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

namespace {

bool is_inside_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::string shorten(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t front = most - most / 4;
  while (front > 0 && is_inside_character(text[front])) --front;
  std::size_t back = text.size() - most / 4;
  while (back < text.size() && is_inside_character(text[back])) ++back;
  std::string out(text.substr(0, front));
  out += "...(" + std::to_string(text.size()) + " bytes)...";
  out += text.substr(back);
  return out;
}

}  // namespace base

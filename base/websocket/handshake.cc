#include "base/websocket/handshake.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <span>

namespace base::ws {
namespace {

// Source: RFC 6455, section 1.3.
constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kKeyBytes = 16;

std::string base64(std::span<const unsigned char> bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  auto* into = reinterpret_cast<unsigned char*>(out.data());
  int size = EVP_EncodeBlock(into, bytes.data(), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

bool is_base64(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

std::string_view trim(std::string_view text) {
  auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "HTTP/1.1 101 Switching Protocols"
std::optional<unsigned> parse_status(std::string_view line) {
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || !is_digit(line[7]) || line[8] != ' ' ||
      !std::ranges::all_of(line.substr(9, 3), is_digit) || (line.size() > 12 && line[12] != ' ')) {
    return std::nullopt;
  }
  return static_cast<unsigned>((line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0'));
}

// A name that ends in a space, or a line that continues the one before, can be
// read in two ways and is refused.
bool parse_field(std::string_view line, http::Headers& into) {
  std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  std::string_view name = line.substr(0, colon);
  if (std::ranges::any_of(name, [](char c) { return c <= ' ' || c > '~'; })) return false;
  std::string_view value = trim(line.substr(colon + 1));
  if (std::ranges::any_of(value, [](char c) { return c == '\0' || c == '\r' || c == '\n'; })) {
    return false;
  }
  into.add(std::string(name), std::string(value));
  return true;
}

}  // namespace

std::string make_key(Random& random) {
  std::array<unsigned char, kKeyBytes> bytes;
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return base64(bytes);
}

bool is_key(std::string_view text) {
  // 16 bytes: 22 characters, of which the last has four bits to spare, and "==".
  return text.size() == 24 && text.ends_with("==") &&
         std::ranges::all_of(text.substr(0, 22), is_base64) &&
         std::string_view("AQgw").contains(text[21]);
}

std::string accept_for(std::string_view key) {
  std::string text = std::string(key).append(kGuid);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  // SHA-1 protects nothing here: it is a fixed function both sides know.
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return base64(std::span(digest).first(size));
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::vector<std::string_view> list_of(const http::Headers& headers, std::string_view name) {
  std::vector<std::string_view> out;
  for (const auto& field : headers.fields()) {
    if (!equals_ignoring_case(field.name, name)) continue;
    std::string_view rest = field.value;
    for (;;) {
      std::size_t comma = rest.find(',');
      std::string_view item = trim(rest.substr(0, comma));
      if (!item.empty()) out.push_back(item);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return out;
}

bool has_token(const http::Headers& headers, std::string_view name, std::string_view token) {
  return std::ranges::any_of(list_of(headers, name), [&](std::string_view item) {
    return equals_ignoring_case(item, token);
  });
}

std::optional<std::string_view> only(const http::Headers& headers, std::string_view name) {
  std::optional<std::string_view> found;
  for (const auto& field : headers.fields()) {
    if (!equals_ignoring_case(field.name, name)) continue;
    if (found) return std::nullopt;
    found = field.value;
  }
  return found;
}

std::optional<Answer> parse_answer(std::string_view head) {
  constexpr std::string_view kLineEnd = "\r\n";
  Answer answer;
  bool first = true;
  while (!head.empty()) {
    std::size_t end = head.find(kLineEnd);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end + kLineEnd.size());
    if (first) {
      auto status = parse_status(line);
      if (!status) return std::nullopt;
      answer.status = *status;
      first = false;
    } else if (line.empty()) {
      return head.empty() ? std::optional(std::move(answer)) : std::nullopt;
    } else if (!parse_field(line, answer.headers)) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace base::ws

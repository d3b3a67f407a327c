#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/core/text.h"
#include "base/json/json.h"

namespace base::json {
namespace {

// For each byte: 0 to copy it, 'u' for \u00XX, else the letter after '\'.
constexpr auto kEscapes = [] {
  std::array<char, 256> table{};
  for (std::size_t c = 0; c < 0x20; ++c) table[c] = 'u';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['"'] = '"';
  table['\\'] = '\\';
  return table;
}();

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

std::string replace_bad_bytes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t length = 1;
    while (length <= 4 && !(length <= text.size() && is_utf8(text.substr(0, length)))) ++length;
    if (length > 4) {
      out += kReplacement;
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

void append_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    char escape = kEscapes[byte];
    if (escape == 0) continue;
    out.append(text, copied, i - copied);
    copied = i + 1;
    out += '\\';
    out += escape;
    if (escape == 'u') {
      out += "00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  out.append(text, copied);
}

// Each of the eight bytes is ASCII and stands for itself in JSON. A borrow can
// only mark a byte above one that is marked already.
bool is_plain(std::uint64_t bytes) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  auto has_less = [](std::uint64_t word, std::uint64_t than) {
    return (word - kOnes * than) & ~word;
  };
  std::uint64_t marked = bytes | has_less(bytes, 0x20) | has_less(bytes ^ kOnes * '"', 1) |
                         has_less(bytes ^ kOnes * '\\', 1);
  return (marked & (kOnes * 0x80)) == 0;
}

// Nearly all texts are: names, hashes, identifiers.
bool is_plain(std::string_view text) {
  std::uint64_t word = 0;
  while (text.size() >= sizeof word) {
    std::memcpy(&word, text.data(), sizeof word);
    if (!is_plain(word)) return false;
    text.remove_prefix(sizeof word);
  }
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || kEscapes[byte] != 0) return false;
  }
  return true;
}

void append_double(std::string& out, double value) {
  // JSON has no NaN and no infinity; whoever made the tree had to know.
  if (!std::isfinite(value)) std::abort();
  std::size_t start = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

template <class Integer>
void append_integer(std::string& out, Integer value) {
  fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}

void append_array(std::string& out, const Array& array) {
  out += '[';
  bool first = true;
  for (const Value& element : array) {
    if (!first) out += ',';
    first = false;
    append(out, element);
  }
  out += ']';
}

void append_object(std::string& out, const Object& object) {
  out += '{';
  bool first = true;
  for (const auto& member : object) {
    if (!first) out += ',';
    first = false;
    append_quoted(out, {member.key().data(), member.key().size()});
    out += ':';
    append(out, member.value());
  }
  out += '}';
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  if (is_plain(text)) {
    out += text;
  } else if (is_utf8(text)) {
    append_escaped(out, text);
  } else {
    append_escaped(out, replace_bad_bytes(text));
  }
  out += '"';
}

void append(std::string& out, const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null: out += "null"; return;
    case boost::json::kind::bool_: out += value.get_bool() ? "true" : "false"; return;
    case boost::json::kind::int64: append_integer(out, value.get_int64()); return;
    case boost::json::kind::uint64: append_integer(out, value.get_uint64()); return;
    case boost::json::kind::double_: append_double(out, value.get_double()); return;
    case boost::json::kind::string:
      append_quoted(out, {value.get_string().data(), value.get_string().size()});
      return;
    case boost::json::kind::array: append_array(out, value.get_array()); return;
    case boost::json::kind::object: append_object(out, value.get_object()); return;
  }
  std::abort();
}

std::string write(const Value& value) {
  std::string out;
  append(out, value);
  return out;
}

}  // namespace base::json

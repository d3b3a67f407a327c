#include "toolserver/guard/folding.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace tool::guard {
namespace {

// Letters that look like a Latin one and are no form of it. Sorted.
constexpr auto kLookAlikes = std::to_array<std::pair<char32_t, char>>({
    {0x0131, 'i'}, {0x01C0, 'l'}, {0x0251, 'a'}, {0x0261, 'g'},  {0x0269, 'i'},  {0x026A, 'i'},
    {0x0274, 'n'}, {0x0280, 'r'}, {0x028F, 'y'}, {0x0299, 'b'},  {0x029C, 'h'},  {0x029F, 'l'},
    {0x0391, 'A'}, {0x0392, 'B'}, {0x0395, 'E'}, {0x0396, 'Z'},  {0x0397, 'H'},  {0x0399, 'I'},
    {0x039A, 'K'}, {0x039C, 'M'}, {0x039D, 'N'}, {0x039F, 'O'},  {0x03A1, 'P'},  {0x03A4, 'T'},
    {0x03A5, 'Y'}, {0x03A7, 'X'}, {0x03B1, 'a'}, {0x03B3, 'y'},  {0x03B9, 'i'},  {0x03BD, 'v'},
    {0x03BF, 'o'}, {0x03C1, 'p'}, {0x03C3, 'o'}, {0x03C5, 'u'},  {0x03F2, 'c'},  {0x03F3, 'j'},
    {0x0405, 'S'}, {0x0406, 'I'}, {0x0408, 'J'}, {0x0410, 'A'},  {0x0412, 'B'},  {0x0415, 'E'},
    {0x041A, 'K'}, {0x041C, 'M'}, {0x041D, 'H'}, {0x041E, 'O'},  {0x0420, 'P'},  {0x0421, 'C'},
    {0x0422, 'T'}, {0x0423, 'Y'}, {0x0425, 'X'}, {0x0430, 'a'},  {0x0435, 'e'},  {0x043E, 'o'},
    {0x0440, 'p'}, {0x0441, 'c'}, {0x0443, 'y'}, {0x0445, 'x'},  {0x0455, 's'},  {0x0456, 'i'},
    {0x0458, 'j'}, {0x0475, 'v'}, {0x04AE, 'Y'}, {0x04BB, 'h'},  {0x04C0, 'I'},  {0x04CF, 'l'},
    {0x0501, 'd'}, {0x051B, 'q'}, {0x051D, 'w'}, {0x0555, 'O'},  {0x0570, 'h'},  {0x0578, 'n'},
    {0x057D, 'u'}, {0x0581, 'g'}, {0x0585, 'o'}, {0x13A0, 'D'},  {0x13A1, 'R'},  {0x13A2, 'T'},
    {0x1D00, 'a'}, {0x1D04, 'c'}, {0x1D05, 'd'}, {0x1D07, 'e'},  {0x1D0A, 'j'},  {0x1D0B, 'k'},
    {0x1D0D, 'm'}, {0x1D0F, 'o'}, {0x1D18, 'p'}, {0x1D1B, 't'},  {0x1D1C, 'u'},  {0x1D20, 'v'},
    {0x1D21, 'w'}, {0x1D22, 'z'}, {0x2010, '-'}, {0x2018, '\''}, {0x2019, '\''}, {0x201C, '"'},
    {0x201D, '"'}, {0x2212, '-'}, {0xA731, 's'},
});

constexpr char32_t kNoCharacter = 0xFFFD;

char32_t latin_of(char32_t c) {
  const auto* found =
      std::ranges::lower_bound(kLookAlikes, c, {}, &std::pair<char32_t, char>::first);
  bool is_there = found != kLookAlikes.end() && found->first == c;
  return is_there ? static_cast<unsigned char>(found->second) : c;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}
bool is_unseen(char32_t c) {
  return c < 0x20 || c == 0x7F || (c >= 0x80 && c < 0xA0) || (c >= 0x2060 && c <= 0x206F) ||
         (c >= 0xE0000 && c <= 0xE0FFF) || c == 0x2800;
}

// What a folded text is written with.
class Writer {
 public:
  Writer(Folded& out, Origins origins) : out_(out), keeps_(origins == Origins::kKept) {}

  // `at` is where the character began in the source.
  void put(char32_t c, std::size_t at) {
    if (is_space(c)) {
      if (!has_blank_) blank_from_ = at;
      has_blank_ = true;
      return;
    }
    if (has_blank_) flush();
    std::array<utf8proc_uint8_t, 4> bytes{};
    auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes.data());
    append(std::string_view(reinterpret_cast<const char*>(bytes.data()),
                            static_cast<std::size_t>(count)),
           at);
  }
  // Text that fold() would not change, without a blank at its ends.
  void put_plain(std::string_view text, std::size_t at) {
    if (has_blank_) flush();
    out_.text += text;
    for (std::size_t i = 0; keeps_ && i < text.size(); ++i) {
      out_.origin.push_back(static_cast<std::uint32_t>(at + i));
    }
  }
  void end(std::size_t at) {
    if (has_blank_) flush();
    if (keeps_) out_.origin.push_back(static_cast<std::uint32_t>(at));
  }

 private:
  void flush() {
    append(" ", blank_from_);
    has_blank_ = false;
  }
  void append(std::string_view bytes, std::size_t at) {
    out_.text += bytes;
    if (keeps_) out_.origin.insert(out_.origin.end(), bytes.size(), static_cast<std::uint32_t>(at));
  }

  Folded& out_;
  const bool keeps_;
  bool has_blank_ = false;  // White space that waits for what follows it.
  std::size_t blank_from_ = 0;
};

// What a character that is not ASCII becomes: at most 18 characters.
std::span<const utf8proc_int32_t> decomposed(char32_t c, std::array<utf8proc_int32_t, 32>& room) {
  constexpr int kOptions =
      UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE | UTF8PROC_STRIPMARK | UTF8PROC_IGNORE;
  int boundary = UTF8PROC_BOUNDCLASS_START;
  auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), room.data(), room.size(),
                                       static_cast<utf8proc_option_t>(kOptions), &boundary);
  if (count < 0 || static_cast<std::size_t>(count) > room.size()) {
    room[0] = static_cast<utf8proc_int32_t>(c);
    count = 1;
  }
  return std::span(room).first(static_cast<std::size_t>(count));
}

void put_folded(Writer& out, char32_t c, std::size_t at) {
  if (is_space(c)) return out.put(c, at);
  if (c >= 0xE0020 && c <= 0xE007E) return out.put(c - 0xE0000, at);
  if (is_unseen(c)) return;
  if (c < 0x80) return out.put(c, at);
  std::array<utf8proc_int32_t, 32> room{};
  for (utf8proc_int32_t one : decomposed(c, room))
    out.put(latin_of(static_cast<char32_t>(one)), at);
}

// How much of `text` fold() would not change, were it all.
std::size_t plain_prefix(std::string_view text) {
  bool after_blank = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    auto c = static_cast<unsigned char>(text[at]);
    if (c >= 0x7F || c < 0x20 || (c == ' ' && after_blank)) break;
    after_blank = c == ' ';
  }
  return at;
}

// The same, but for blanks at both ends, which may be part of a larger one.
std::size_t plain_start(std::string_view text) {
  if (text.starts_with(' ')) return 0;
  std::size_t length = plain_prefix(text);
  return length > 0 && text[length - 1] == ' ' ? length - 1 : length;
}

constexpr auto kDigits = [] {
  std::array<signed char, 256> values{};
  values.fill(-1);
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<signed char>(i);
  }
  values['-'] = values['+'];
  values['_'] = values['/'];
  return values;
}();
int value_of(char c) { return kDigits[static_cast<unsigned char>(c)]; }

constexpr std::size_t kLeastEncoded = 24;
constexpr std::size_t kLongLine = 40;
constexpr std::size_t kLeastText = 12;

// Where the line end at `at` ends, if the stretch goes on after it.
std::size_t over_line_end(std::string_view text, std::size_t at) {
  std::size_t next = at;
  if (next < text.size() && text[next] == '\r') ++next;
  if (next >= text.size() || text[next] != '\n') return at;
  ++next;
  return next < text.size() && value_of(text[next]) >= 0 ? next : at;
}

// Where the next stretch begins at or after `at`, which no stretch goes through, or the end. It
// begins with kLeastEncoded digits in one line, so a sign among them that is none moves the
// search past it: most of a text is not looked at.
static_assert(kLeastEncoded <= kLongLine);
std::size_t next_stretch(std::string_view text, std::size_t at) {
  while (text.size() - at >= kLeastEncoded) {
    std::size_t last = kLeastEncoded;
    while (last > 0 && value_of(text[at + last - 1]) >= 0) --last;
    if (last == 0) return at;
    at += last;
  }
  return text.size();
}

// Whether it reads as text: UTF-8 that shows, but for a broken end.
bool is_text(std::string_view bytes) {
  std::size_t odd = 0;
  std::size_t at = 0;
  while (at < bytes.size()) {
    utf8proc_int32_t c = -1;
    auto used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data() + at),
                                 static_cast<utf8proc_ssize_t>(bytes.size() - at), &c);
    bool shows = used > 0 && (c >= 0x20 || is_space(static_cast<char32_t>(c))) && c != 0x7F;
    if (!shows && ++odd > 2 + bytes.size() / 32) return false;
    at += used > 0 ? static_cast<std::size_t>(used) : 1;
  }
  return true;
}

// The bytes that `digits` stand for from `first` on; what is left over is no whole byte.
std::string decoded(std::string_view digits, std::size_t first) {
  std::string out;
  out.reserve(digits.size() / 4 * 3 + 3);
  unsigned bits = 0;
  int count = 0;
  for (char c : digits.substr(first)) {
    bits = (bits << 6 | static_cast<unsigned>(value_of(c))) & 0xFFFF;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

}  // namespace

bool is_plain(std::string_view text) { return plain_prefix(text) == text.size(); }

Folded fold(std::string_view text, Origins origins) {
  Folded out;
  out.text.reserve(text.size());
  Writer writer(out, origins);
  std::size_t at = 0;
  while (at < text.size()) {
    if (std::size_t plain = plain_start(text.substr(at)); plain > 0) {
      writer.put_plain(text.substr(at, plain), at);
      at += plain;
      continue;
    }
    auto first = static_cast<unsigned char>(text[at]);
    utf8proc_int32_t c = first;
    utf8proc_ssize_t used = 1;
    if (first >= 0x80) {
      used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                              static_cast<utf8proc_ssize_t>(text.size() - at), &c);
    }
    bool is_character = used > 0;
    put_folded(writer, is_character ? static_cast<char32_t>(c) : kNoCharacter, at);
    at += is_character ? static_cast<std::size_t>(used) : 1;
  }
  writer.end(text.size());
  return out;
}

std::vector<Encoded> encoded_texts(std::string_view text) {
  std::vector<Encoded> out;
  std::string digits;
  for (std::size_t at = next_stretch(text, 0); at < text.size(); at = next_stretch(text, at)) {
    std::size_t begin = at;
    std::size_t line = at;
    digits.clear();
    while (at < text.size()) {
      if (value_of(text[at]) >= 0) {
        digits += text[at++];
        continue;
      }
      std::size_t next = at - line >= kLongLine ? over_line_end(text, at) : at;
      if (next == at) break;
      at = line = next;
    }
    Encoded one{begin, at, {}};
    for (std::size_t first = 0; first < 4; ++first) {
      std::string said = decoded(digits, first);
      if (said.size() >= kLeastText && is_text(said)) one.texts.push_back(std::move(said));
    }
    if (!one.texts.empty()) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace tool::guard

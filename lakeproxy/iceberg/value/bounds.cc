#include "lakeproxy/iceberg/value/bounds.h"

#include <cstdint>

#include "base/core/text.h"

namespace lake::materialize {
namespace {

using model::TypeKind;

constexpr std::uint32_t kMaxCodePoint = 0x10FFFF;
constexpr std::uint32_t kFirstSurrogate = 0xD800;
constexpr std::uint32_t kAfterSurrogates = 0xE000;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Where `width` code points or bytes end; the size when there are no more.
std::size_t cut_at(std::string_view bound, TypeKind kind, std::size_t width) {
  if (kind == TypeKind::kBinary) return std::min(width, bound.size());
  std::size_t seen = 0;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (!is_continuation(bound[i]) && seen++ == width) return i;
  }
  return bound.size();
}

bool can_shorten(TypeKind kind) { return kind == TypeKind::kString || kind == TypeKind::kBinary; }

std::optional<std::string> raise_bytes(std::string text) {
  while (!text.empty() && text.back() == '\xFF') text.pop_back();
  if (text.empty()) return std::nullopt;
  ++text.back();
  return text;
}

// The code point of one well-formed sequence.
std::uint32_t decode_utf8(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first;
  std::uint32_t point = first & (0xFFU >> (sequence.size() + 1));
  for (char byte : sequence.substr(1))
    point = point << 6 | (static_cast<unsigned char>(byte) & 0x3F);
  return point;
}

void append_utf8(std::string& out, std::uint32_t point) {
  auto tail = [&](int shift) { out.push_back(static_cast<char>(0x80 | (point >> shift & 0x3F))); };
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | point >> 12));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0 | point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::optional<std::string> raise_text(std::string text) {
  while (!text.empty()) {
    std::size_t start = text.size() - 1;
    while (is_continuation(text[start])) --start;
    std::uint32_t point = decode_utf8(std::string_view(text).substr(start));
    text.resize(start);
    if (point == kMaxCodePoint) continue;
    if (++point == kFirstSurrogate) point = kAfterSurrogates;
    append_utf8(text, point);
    return text;
  }
  return std::nullopt;
}

}  // namespace

std::string shorten_lower_bound(std::string_view bound, const model::Type& type,
                                std::size_t width) {
  if (!can_shorten(type.kind())) return std::string(bound);
  return std::string(bound.substr(0, cut_at(bound, type.kind(), width)));
}

std::optional<std::string> shorten_upper_bound(std::string_view bound, const model::Type& type,
                                               std::size_t width) {
  if (!can_shorten(type.kind())) return std::string(bound);
  if (type.kind() == TypeKind::kString && !base::is_utf8(bound)) return std::nullopt;
  const std::size_t end = cut_at(bound, type.kind(), width);
  if (end == bound.size()) return std::string(bound);
  std::string prefix(bound.substr(0, end));
  if (type.kind() == TypeKind::kBinary) return raise_bytes(std::move(prefix));
  return raise_text(std::move(prefix));
}

}  // namespace lake::materialize

#include "toolserver/connectors/files/relative_path.h"

#include <algorithm>

#include "base/core/text.h"
#include "toolserver/connectors/files/forbidden_characters.h"

namespace tool::files {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;

// The code point at `at`, and moves `at` behind it. The text is UTF-8.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  auto byte = [&] { return static_cast<unsigned char>(text[at++]); };
  char32_t first = byte();
  if (first < 0x80) return first;
  int tail = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  char32_t code = first & (0x3FU >> tail);
  for (; tail > 0; --tail) code = (code << 6) | (byte() & 0x3FU);
  return code;
}

bool has_forbidden(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (is_forbidden(next_code_point(text, at))) return true;
  }
  return false;
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool has_percent_escape(std::string_view text) {
  for (std::size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    if (at + 2 < text.size() && is_hex(text[at + 1]) && is_hex(text[at + 2])) return true;
  }
  return false;
}

// The rule that a segment breaks; empty when it keeps them all.
std::string_view broken_rule(std::string_view segment) {
  if (segment.empty()) return "a part of the path is empty";
  if (segment.size() > PathLimits::kSegmentBytes) return "a part of the path is too long";
  if (segment == ".") return "\".\" is not allowed in the path";
  if (segment.starts_with("..")) return "no part of the path may start with \"..\"";
  if (segment.ends_with('.') || segment.ends_with(' ')) {
    return "no part of the path may end in a dot or a space";
  }
  if (!base::is_utf8(segment)) return "the path is not UTF-8";
  if (has_forbidden(segment)) return "the path holds a character that is not allowed";
  if (has_percent_escape(segment)) return "the path may not hold percent escapes";
  return {};
}

std::size_t text_size(const std::vector<std::string>& segments) {
  std::size_t size = segments.empty() ? 0 : segments.size() - 1;
  for (const auto& segment : segments) size += segment.size();
  return size;
}

}  // namespace

Result<RelativePath> RelativePath::parse(std::string_view text) {
  if (text.empty()) return fail(ErrorKind::kInvalid, "the path is empty");
  if (text.size() > PathLimits::kBytes) return fail(ErrorKind::kInvalid, "the path is too long");
  if (text.front() == '/') return fail(ErrorKind::kInvalid, "the path must be relative");
  RelativePath path;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find('/', begin), text.size());
    std::string_view segment = text.substr(begin, end - begin);
    if (auto rule = broken_rule(segment); !rule.empty()) {
      return fail(ErrorKind::kInvalid, std::string(rule));
    }
    if (path.segments_.size() == PathLimits::kDepth) {
      return fail(ErrorKind::kInvalid, "the path has too many parts");
    }
    path.segments_.emplace_back(segment);
    begin = end + 1;
  }
  return path;
}

RelativePath RelativePath::parent() const {
  RelativePath folder = *this;
  folder.segments_.pop_back();
  return folder;
}

std::optional<RelativePath> RelativePath::child(std::string_view name) const {
  if (name.find('/') != name.npos || !broken_rule(name).empty()) return std::nullopt;
  if (segments_.size() == PathLimits::kDepth) return std::nullopt;
  RelativePath path = *this;
  path.segments_.emplace_back(name);
  if (text_size(path.segments_) > PathLimits::kBytes) return std::nullopt;
  return path;
}

std::string RelativePath::text() const {
  std::string out;
  for (const auto& segment : segments_) {
    if (!out.empty()) out += '/';
    out += segment;
  }
  return out;
}

}  // namespace tool::files

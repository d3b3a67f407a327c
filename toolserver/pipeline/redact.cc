#include "toolserver/pipeline/redact.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tool::pipeline {
namespace {

using base::json::Value;

// One segment, with its escapes resolved. RFC 6901, section 4.
std::string unescaped(std::string_view segment) {
  std::string out;
  for (std::size_t at = 0; at < segment.size(); ++at) {
    if (segment[at] != '~') {
      out += segment[at];
    } else {
      out += segment[++at] == '0' ? '~' : '/';
    }
  }
  return out;
}

std::vector<std::string> segments_of(std::string_view pointer) {
  std::vector<std::string> out;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    std::size_t end = std::min(pointer.find('/'), pointer.size());
    out.push_back(unescaped(pointer.substr(0, end)));
    pointer.remove_prefix(end);
  }
  return out;
}

std::optional<std::size_t> index_of(std::string_view segment) {
  std::size_t index = 0;
  auto [end, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
  bool is_whole = error == std::errc() && end == segment.data() + segment.size();
  if (!is_whole || (segment.size() > 1 && segment.front() == '0')) return std::nullopt;
  return index;
}

Value* child_of(Value& value, std::string_view segment) {
  if (auto* object = value.if_object()) return object->if_contains(segment);
  auto* array = value.if_array();
  auto index = array ? index_of(segment) : std::nullopt;
  return index && *index < array->size() ? &(*array)[*index] : nullptr;
}

std::size_t redact_one(Value& document, std::string_view pointer) {
  if (!is_json_pointer(pointer)) return 0;
  Value* at = &document;
  for (const std::string& segment : segments_of(pointer)) {
    at = child_of(*at, segment);
    if (!at) return 0;
  }
  *at = boost::json::string(kRedacted);
  return 1;
}

void replace(Content& part) {
  part.media_type = "text/plain";
  part.data = kRedacted;
}

// "/content", "/content/3", "/content/3/text": a part goes as a whole.
std::size_t redact_content(std::vector<Content>& content, std::string_view pointer) {
  auto segments = segments_of(pointer);
  if (segments.size() == 1) {
    std::ranges::for_each(content, replace);
    return content.size();
  }
  auto index = index_of(segments[1]);
  if (!index || *index >= content.size()) return 0;
  replace(content[*index]);
  return 1;
}

bool leads_into(std::string_view pointer, std::string_view member) {
  if (!pointer.starts_with(member)) return false;
  return pointer.size() == member.size() || pointer[member.size()] == '/';
}

}  // namespace

bool is_json_pointer(std::string_view text) {
  if (!text.empty() && text.front() != '/') return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '~') continue;
    if (at + 1 == text.size() || (text[at + 1] != '0' && text[at + 1] != '1')) return false;
  }
  return true;
}

std::size_t redact_at(Value& document, const std::vector<std::string>& pointers) {
  std::size_t count = 0;
  for (const auto& pointer : pointers) count += redact_one(document, pointer);
  return count;
}

std::size_t redact_at(ToolResult& result, const std::vector<std::string>& pointers) {
  constexpr std::string_view kStructured = "/structured";
  constexpr std::string_view kContent = "/content";
  std::size_t count = 0;
  bool names_content = false;
  std::size_t structured = 0;
  for (const auto& pointer : pointers) {
    if (!is_json_pointer(pointer)) continue;
    if (leads_into(pointer, kContent)) {
      names_content = true;
      count += redact_content(result.content, pointer);
    } else if (result.structured && (pointer.empty() || leads_into(pointer, kStructured))) {
      auto inner = std::string_view(pointer).substr(std::min(pointer.size(), kStructured.size()));
      structured += redact_one(*result.structured, inner);
    }
    if (pointer.empty()) count += redact_content(result.content, kContent);
  }
  if (structured > 0 && !names_content) count += redact_content(result.content, kContent);
  return count + structured;
}

}  // namespace tool::pipeline

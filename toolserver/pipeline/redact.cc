#include "toolserver/pipeline/redact.h"

#include <algorithm>

#include "base/json/pointer.h"

namespace tool::pipeline {
namespace {

using base::json::Value;

std::size_t redact_one(Value& document, std::string_view pointer) {
  Value* at = base::json::find_at(document, pointer);
  if (at == nullptr) return 0;
  *at = boost::json::string(kRedacted);
  return 1;
}

void replace(Content& part) {
  part.media_type = "text/plain";
  part.data = kRedacted;
}

// "/content", "/content/3", "/content/3/text": a part goes as a whole.
std::size_t redact_content(std::vector<Content>& content, std::string_view pointer) {
  auto tokens = base::json::pointer_tokens(pointer);
  if (!tokens) return 0;
  if (tokens->size() == 1) {
    std::ranges::for_each(content, replace);
    return content.size();
  }
  auto index = base::json::element_of((*tokens)[1]);
  if (!index || *index >= content.size()) return 0;
  replace(content[*index]);
  return 1;
}

bool leads_into(std::string_view pointer, std::string_view member) {
  if (!pointer.starts_with(member)) return false;
  return pointer.size() == member.size() || pointer[member.size()] == '/';
}

}  // namespace

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
    if (!base::json::is_pointer(pointer)) continue;
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

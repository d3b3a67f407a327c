#include "toolserver/model/tool_id.h"

#include <algorithm>

namespace tool {
namespace {

constexpr std::size_t kMaxPart = 64;

bool is_part(std::string_view text) {
  if (text.empty() || text.size() > kMaxPart) return false;
  auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  auto rest = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  return letter(text[0]) && std::ranges::all_of(text, rest);
}

}  // namespace

base::Result<ToolId> ToolId::parse(std::string_view text) {
  std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || !is_part(text.substr(0, dot)) ||
      !is_part(text.substr(dot + 1))) {
    return base::fail(base::ErrorKind::kInvalid,
                      "a tool's name is <namespace>.<name>, each 1 to 64 of a-z, 0-9, '_' and '-' "
                      "with a letter first");
  }
  return ToolId(std::string(text), dot);
}

}  // namespace tool

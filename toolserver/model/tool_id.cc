#include "toolserver/model/tool_id.h"

#include <algorithm>
#include <cstdlib>

namespace tool {
namespace {

constexpr std::size_t kMaxPart = 64;

bool is_part(std::string_view text) {
  if (text.empty() || text.size() > kMaxPart) return false;
  auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  auto rest = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  return letter(text[0]) && std::ranges::all_of(text, rest);
}

// Where the dot of "<namespace>.<name>" stands, after `begin` bytes.
base::Result<std::size_t> dot_of(std::string_view text, std::size_t begin) {
  std::size_t dot = text.find('.', begin);
  if (dot != std::string_view::npos && is_part(text.substr(begin, dot - begin)) &&
      is_part(text.substr(dot + 1))) {
    return dot;
  }
  return base::fail(base::ErrorKind::kInvalid,
                    "a tool's name is <namespace>.<name>, each 1 to 64 of a-z, 0-9, '_' and '-' "
                    "with a letter first");
}

}  // namespace

std::string_view name(Offer offer) {
  switch (offer) {
    case Offer::kTool: return "tool";
    case Offer::kPrompt: return "prompt";
    case Offer::kResource: return "resource";
  }
  std::abort();
}

base::Result<ToolId> ToolId::parse(std::string_view text) {
  ASSIGN_OR_RETURN(std::size_t dot, dot_of(text, 0));
  return ToolId(Offer::kTool, std::string(text), 0, dot);
}

base::Result<ToolId> ToolId::parse_any(std::string_view text) {
  for (Offer offer : {Offer::kPrompt, Offer::kResource}) {
    std::string_view word = tool::name(offer);
    if (!text.starts_with(word) || !text.substr(word.size()).starts_with(':')) continue;
    std::size_t begin = word.size() + 1;
    ASSIGN_OR_RETURN(std::size_t dot, dot_of(text, begin));
    return ToolId(offer, std::string(text), begin, dot);
  }
  return parse(text);
}

}  // namespace tool

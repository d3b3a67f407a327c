// A list of tools and a query of anybody: words are bounded, every tool can be
// found by its own name, and a score is a number.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "toolserver/tool_search/index.h"
#include "toolserver/tool_search/words.h"

namespace {

using tool::tool_search::Described;
using tool::tool_search::Index;

void check(bool holds) {
  if (!holds) std::abort();
}

// Lines; the last is the query.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at <= text.size() && lines.size() < 64;) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto lines = lines_of({reinterpret_cast<const char*>(data), size});
  std::string_view query = lines.empty() ? std::string_view() : lines.back();
  std::vector<Described> tools;
  for (std::string_view line : lines) {
    std::size_t half = line.size() / 2;
    tools.push_back({line.substr(0, half), {}, line.substr(half), {line.substr(half / 2)}});
  }
  Index index(tools);
  check(index.size() == tools.size());
  auto hits = index.best(query, 5);
  check(hits.size() <= 5);
  for (const auto& hit : hits) {
    check(hit.tool < tools.size() && std::isfinite(hit.score) && hit.score > 0);
  }
  for (const auto& word : tool::tool_search::words_of(query, 32)) {
    check(!word.empty() && word.size() <= 41);
  }
  for (const auto& tool : tools) {
    bool has_words = !tool::tool_search::words_of(tool.name.substr(0, 400), 32).empty();
    if (has_words) check(!index.best(tool.name.substr(0, 400), 1).empty());
  }
  return 0;
}

// Any bytes as a text: folding gives well-formed UTF-8 whose bytes know where
// they came from, and what is said in base64 lies within the text.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/core/text.h"
#include "toolserver/guard/folding.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  using tool::guard::Origins;
  auto folded = tool::guard::fold(text, Origins::kKept);
  if (!base::is_utf8(folded.text)) std::abort();
  if (folded.origin.size() != folded.text.size() + 1 || folded.origin.back() != size) std::abort();
  for (std::size_t i = 1; i < folded.origin.size(); ++i) {
    if (folded.origin[i] < folded.origin[i - 1]) std::abort();
  }
  if (tool::guard::is_plain(text) && folded.text != text) std::abort();
  if (folded.text != tool::guard::fold(text, Origins::kLeftOut).text) std::abort();
  for (const auto& one : tool::guard::encoded_texts(text)) {
    if (one.begin >= one.end || one.end > size || one.texts.empty()) std::abort();
  }
  return 0;
}

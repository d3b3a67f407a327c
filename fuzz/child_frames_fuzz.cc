// Any bytes as what the engine's process says: frames, and in them answers and
// notes. The first byte says how the rest is cut into pieces.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "toolserver/connectors/sql/sql_exchange.h"
#include "toolserver/isolate/frame.h"

namespace {

using tool::isolate::Frame;
using tool::isolate::FrameKind;

void require(bool holds) {
  if (!holds) std::abort();
}

// What is read is what would be said again.
void check(const Frame& frame, std::size_t most) {
  require(frame.payload.size() <= most);
  (void)tool::connectors::read_note(frame.payload);
  auto answer = tool::connectors::read_answer(frame.payload);
  if (!answer) return;
  std::string again = tool::connectors::encode(*answer, ~std::size_t{0});
  auto same = tool::connectors::read_answer(again);
  require(same.has_value() && same->has_value() == answer->has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 4096;
  if (size == 0) return 0;
  std::size_t piece = data[0] + std::size_t{1};
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  check({FrameKind::kAnswer, 0, std::string(bytes.substr(0, kMost))}, kMost);
  tool::isolate::FrameReader reader(kMost);
  while (!bytes.empty()) {
    reader.add(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      auto frame = reader.next();
      if (!frame) return 0;
      if (!*frame) break;
      check(**frame, kMost);
    }
  }
  return 0;
}

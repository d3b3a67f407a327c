// Any bytes as a stream of lines, of events, and as a header value: the same
// is read whatever the pieces are, and no bound is passed.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "toolserver/mcp/framing.h"

namespace {

constexpr std::size_t kMost = 1 << 12;

// All that a reader makes of `stream` in pieces of `step`, until it refuses.
template <class Reader, class Item>
std::vector<Item> read(std::string_view stream, std::size_t step) {
  Reader reader(kMost);
  std::vector<Item> all;
  while (!stream.empty()) {
    auto items = reader.feed(stream.substr(0, step));
    if (!items) return all;
    for (Item& one : *items) all.push_back(std::move(one));
    stream.remove_prefix(std::min(step, stream.size()));
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), std::min(size, kMost));
  using tool::mcp::Event, tool::mcp::EventReader, tool::mcp::LineReader;
  if (read<LineReader, std::string>(text, 1) != read<LineReader, std::string>(text, kMost)) {
    std::abort();
  }
  if (read<EventReader, Event>(text, 1) != read<EventReader, Event>(text, kMost)) std::abort();
  if (auto header = tool::mcp::decode_header(text)) {
    if (tool::mcp::decode_header(tool::mcp::encode_header(*header)) != *header) std::abort();
  }
  return 0;
}

// Any JSON as another node's answer to a call: its `chunks`, and then the rest as the res. It is
// refused with one of two codes, or what is taken for text is text, what came in chunks is within
// the bound, and every byte of it has its place.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/core/text.h"
#include "base/json/json.h"
#include "toolserver/federation/peer_answer.h"

namespace {

constexpr std::size_t kMost = 4'096;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_taken(const auto& read) {
  if (read) return true;
  auto code = read.error().code;
  require(code == tool::Code::kUpstream || code == tool::Code::kLimit);
  return false;
}

std::size_t streamed_bytes(const base::json::Value* content) {
  std::size_t bytes = 0;
  for (const auto& part : content->get_array()) {
    const auto* streamed = part.get_object().if_contains("streamed");
    if (streamed == nullptr || streamed->is_null()) continue;
    bytes += part.get_object().at("bytes").to_number<std::size_t>();
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto value = base::json::parse(text, {.bytes = 1 << 16, .values = 10'000});
  if (!value || !value->is_object()) return 0;
  auto& payload = value->get_object();
  tool::federation::PeerAnswer answer(kMost);
  bool is_good = true;
  if (const auto* chunks = payload.if_contains("chunks"); chunks != nullptr && chunks->is_array()) {
    for (const auto& chunk : chunks->get_array()) {
      if (chunk.is_object()) is_good = is_taken(answer.take_chunk(chunk.get_object())) && is_good;
    }
  }
  require(is_good == !answer.fault());
  base::json::Object copy = payload;
  auto read = answer.finish(std::move(copy));
  if (!is_taken(read)) return 0;
  require(is_good && streamed_bytes(payload.if_contains("content")) <= kMost);
  for (const auto& part : read->content) require(!part.is_text() || base::is_utf8(part.data));
  return 0;
}

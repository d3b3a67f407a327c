// Any bytes as a body in chunks: however they are cut, the same body comes out, no larger than its
// bound, and the decoder ends at the same byte, so that the next request begins where it does.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/http/chunk_decoder.h"
#include "base/http/message.h"

namespace {

using State = base::http::ChunkDecoder::State;

constexpr std::size_t kBody = 256;
constexpr std::size_t kOverhead = 64;

struct Decoded {
  State state = State::kMore;
  std::size_t used = 0;
  std::string body;
  friend bool operator==(const Decoded&, const Decoded&) = default;
};

Decoded decode(std::string_view bytes, std::size_t step) {
  base::http::ChunkDecoder decoder(kBody, kOverhead);
  Decoded out;
  while (!bytes.empty() && out.state == State::kMore) {
    const std::string_view piece = bytes.substr(0, step);
    const auto progress = decoder.feed(piece, out.body);
    if (progress.used > piece.size()) std::abort();
    if (progress.state == State::kMore && progress.used != piece.size()) std::abort();
    bytes.remove_prefix(progress.used);
    out.used += progress.used;
    out.state = progress.state;
  }
  if (out.body.size() > kBody) std::abort();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Decoded whole = decode(bytes, size + 1);
  for (std::size_t step : {std::size_t{1}, std::size_t{3}, size / 2 + 1}) {
    if (decode(bytes, step) != whole) std::abort();
  }
  if (whole.state == State::kDone && decode(bytes.substr(0, whole.used), 7) != whole) std::abort();
  (void)base::http::decode_form(bytes);
  return 0;
}

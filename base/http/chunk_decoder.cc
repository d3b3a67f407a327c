#include "base/http/chunk_decoder.h"

#include <algorithm>
#include <utility>

namespace base::http {
namespace {

// More digits than any size within bounds needs, so the value cannot overflow.
constexpr unsigned kMaxDigits = 15;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ChunkDecoder::Progress ChunkDecoder::feed(std::string_view bytes, std::string& body) {
  std::size_t used = 0;
  while (used < bytes.size()) {
    if (at_ == At::kData) {
      std::size_t n = std::min<std::uint64_t>(chunk_left_, bytes.size() - used);
      body.append(bytes.substr(used, n));
      used += n;
      chunk_left_ -= n;
      if (chunk_left_ == 0) at_ = At::kDataCr;
      continue;
    }
    State state = step(bytes[used++]);
    if (state != State::kMore) return {used, state};
  }
  return {used, State::kMore};
}

// One byte of the coding. A line ends with CR LF and nothing else: a reader
// that takes a bare LF and one that does not see two different bodies.
ChunkDecoder::State ChunkDecoder::step(char c) {
  auto go = [&](At next) {
    at_ = next;
    return State::kMore;
  };
  auto expect = [&](char wanted, At next) { return c == wanted ? go(next) : State::kMalformed; };
  switch (at_) {
    case At::kSizeStart:
      digits_ = 0;
      chunk_left_ = 0;
      at_ = At::kSize;
      return size_digit(c);
    case At::kSize:
      if (c == ';') return go(At::kExtension);
      if (c == '\r') return go(At::kSizeLf);
      return size_digit(c);
    case At::kExtension:
      if (c == '\r') return go(At::kSizeLf);
      return spend_overhead(c);
    case At::kSizeLf:
      if (chunk_left_ > body_left_) return State::kTooLarge;
      body_left_ -= chunk_left_;
      return expect('\n', chunk_left_ == 0 ? At::kTrailerStart : At::kData);
    case At::kDataCr: return expect('\r', At::kDataLf);
    case At::kDataLf: return expect('\n', At::kSizeStart);
    case At::kTrailerStart:
      if (c == '\r') return go(At::kEndLf);
      at_ = At::kTrailer;
      return spend_overhead(c);
    case At::kTrailer:
      if (c == '\r') return go(At::kTrailerLf);
      return spend_overhead(c);
    case At::kTrailerLf: return expect('\n', At::kTrailerStart);
    case At::kEndLf:
      return expect('\n', At::kDone) == State::kMore ? State::kDone : State::kMalformed;
    case At::kData:
    case At::kDone: break;
  }
  std::unreachable();
}

ChunkDecoder::State ChunkDecoder::size_digit(char c) {
  int digit = hex_digit(c);
  if (digit < 0 || ++digits_ > kMaxDigits) return State::kMalformed;
  chunk_left_ = chunk_left_ * 16 + static_cast<unsigned>(digit);
  return State::kMore;
}

ChunkDecoder::State ChunkDecoder::spend_overhead(char c) {
  if (static_cast<unsigned char>(c) < ' ' && c != '\t') return State::kMalformed;
  if (overhead_left_ == 0) return State::kTooLarge;
  --overhead_left_;
  return State::kMore;
}

}  // namespace base::http

#include "toolserver/isolate/frame.h"

#include <array>

namespace tool::isolate {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kHeadBytes = 9;

void put(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

std::uint64_t take(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

std::string encode(const Frame& frame) {
  std::string out;
  out.reserve(kLengthBytes + kHeadBytes + frame.payload.size());
  put(out, kHeadBytes + frame.payload.size(), kLengthBytes);
  put(out, static_cast<std::uint64_t>(frame.kind), 1);
  put(out, frame.id, 8);
  out += frame.payload;
  return out;
}

base::Result<std::optional<Frame>> FrameReader::next() {
  std::string_view left = std::string_view(buffer_).substr(taken_);
  if (left.size() < kLengthBytes) return std::optional<Frame>();
  std::size_t length = take(left.substr(0, kLengthBytes));
  if (length < kHeadBytes) return base::fail(base::ErrorKind::kCorrupt, "a frame is too short");
  if (length - kHeadBytes > most_) {
    return base::fail(base::ErrorKind::kTooLarge, "a frame is too long");
  }
  left.remove_prefix(kLengthBytes);
  if (left.empty()) return std::optional<Frame>();
  auto kind = static_cast<std::uint8_t>(left.front());
  if (kind < static_cast<std::uint8_t>(FrameKind::kOpen) ||
      kind > static_cast<std::uint8_t>(FrameKind::kProgress)) {
    return base::fail(base::ErrorKind::kCorrupt, "a frame is of no known kind");
  }
  if (left.size() < length) return std::optional<Frame>();
  Frame frame{static_cast<FrameKind>(kind), take(left.substr(1, 8)),
              std::string(left.substr(kHeadBytes, length - kHeadBytes))};
  taken_ += kLengthBytes + length;
  if (taken_ == buffer_.size() || taken_ > most_) {
    buffer_.erase(0, taken_);
    taken_ = 0;
  }
  return std::optional<Frame>(std::move(frame));
}

}  // namespace tool::isolate

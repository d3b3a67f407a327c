#include "base/websocket/frame_codec.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/core/text.h"
#include "base/websocket/connection.h"

namespace base::ws {
namespace {

constexpr std::uint8_t kFinal = 0x80;
constexpr std::uint8_t kReserved = 0x70;
constexpr std::uint8_t kOpcodeBits = 0x0F;
constexpr std::uint8_t kMaskBit = 0x80;
constexpr std::uint8_t kLengthBits = 0x7F;
constexpr std::uint8_t kLength16 = 126;
constexpr std::uint8_t kLength64 = 127;

std::uint8_t byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<std::uint8_t>(bytes[i]);
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (char c : bytes) value = value << 8 | static_cast<std::uint8_t>(c);
  return value;
}

void append_big_endian(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned shift = bytes * 8; shift > 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> (shift - 8)));
  }
}

bool is_known(std::uint8_t opcode) { return opcode <= 0x2 || (opcode >= 0x8 && opcode <= 0xA); }

std::optional<Violation> check_first_byte(std::uint8_t first) {
  if (first & kReserved) return Violation::kReservedBits;
  if (!is_known(first & kOpcodeBits)) return Violation::kUnknownOpcode;
  if (is_control(Opcode(first & kOpcodeBits)) && !(first & kFinal)) {
    return Violation::kControlFragmented;
  }
  return std::nullopt;
}

std::optional<Violation> check_second_byte(std::uint8_t second, Opcode opcode, Sender sender) {
  bool masked = second & kMaskBit;
  if (sender == Sender::kClient && !masked) return Violation::kNotMasked;
  if (sender == Sender::kServer && masked) return Violation::kMasked;
  if (is_control(opcode) && (second & kLengthBits) > kMaxControlBytes) {
    return Violation::kControlTooLong;
  }
  return std::nullopt;
}

// Bytes of the length that follow the second byte.
std::size_t length_bytes(std::uint8_t second) {
  switch (second & kLengthBits) {
    case kLength16: return 2;
    case kLength64: return 8;
    default: return 0;
  }
}

std::optional<Violation> check_length(std::uint64_t length, std::size_t bytes) {
  if (bytes == 2 && length < kLength16) return Violation::kLengthNotShortest;
  if (bytes == 8 && length >> 63 != 0) return Violation::kLengthTopBit;
  if (bytes == 8 && length <= 0xFFFF) return Violation::kLengthNotShortest;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Violation violation) {
  switch (violation) {
    case Violation::kReservedBits: return "reserved bits set";
    case Violation::kUnknownOpcode: return "unknown opcode";
    case Violation::kNotMasked: return "frame not masked";
    case Violation::kMasked: return "frame masked";
    case Violation::kLengthNotShortest: return "length not in its shortest form";
    case Violation::kLengthTopBit: return "length out of range";
    case Violation::kControlTooLong: return "control frame too long";
    case Violation::kControlFragmented: return "control frame fragmented";
    case Violation::kUnexpectedContinuation: return "nothing to continue";
    case Violation::kInterleaved: return "message inside a fragmented message";
    case Violation::kClosePayload: return "malformed close frame";
    case Violation::kCloseCode: return "close code not allowed";
    case Violation::kBadUtf8: return "text is not UTF-8";
    case Violation::kTooLarge: return "message too large";
    case Violation::kTooManyFragments: return "too many fragments";
  }
  return "protocol error";
}

std::uint16_t close_code(Violation violation) {
  switch (violation) {
    case Violation::kBadUtf8: return kCloseInvalidData;
    case Violation::kTooLarge:
    case Violation::kTooManyFragments: return kCloseTooLarge;
    default: return kCloseProtocolError;
  }
}

std::expected<std::optional<FrameHeader>, Violation> parse_header(std::string_view bytes,
                                                                  Sender sender) {
  if (bytes.empty()) return std::nullopt;
  std::uint8_t first = byte_at(bytes, 0);
  if (auto broken = check_first_byte(first)) return std::unexpected(*broken);
  if (bytes.size() < 2) return std::nullopt;
  std::uint8_t second = byte_at(bytes, 1);
  FrameHeader header;
  header.final = (first & kFinal) != 0;
  header.opcode = Opcode(first & kOpcodeBits);
  if (auto broken = check_second_byte(second, header.opcode, sender)) {
    return std::unexpected(*broken);
  }
  std::size_t extended = length_bytes(second);
  bool masked = (second & kMaskBit) != 0;
  header.size = 2 + extended + (masked ? 4 : 0);
  if (bytes.size() < 2 + extended) return std::nullopt;
  header.length = extended ? big_endian(bytes.substr(2, extended)) : second & kLengthBits;
  if (auto broken = check_length(header.length, extended)) return std::unexpected(*broken);
  if (bytes.size() < header.size) return std::nullopt;
  if (masked) {
    header.mask.emplace();
    std::memcpy(header.mask->data(), bytes.data() + 2 + extended, header.mask->size());
  }
  return header;
}

void append_header(std::string& out, const FrameHeader& header) {
  auto opcode = static_cast<std::uint8_t>(header.opcode);
  out.push_back(static_cast<char>(opcode | (header.final ? kFinal : 0)));
  std::uint8_t mask_bit = header.mask ? kMaskBit : 0;
  if (header.length < kLength16) {
    out.push_back(static_cast<char>(mask_bit | header.length));
  } else if (header.length <= 0xFFFF) {
    out.push_back(static_cast<char>(mask_bit | kLength16));
    append_big_endian(out, header.length, 2);
  } else {
    out.push_back(static_cast<char>(mask_bit | kLength64));
    append_big_endian(out, header.length, 8);
  }
  if (header.mask) out.append(header.mask->begin(), header.mask->end());
}

void apply_mask(std::span<char> bytes, const Mask& mask, std::uint64_t offset) {
  // Eight bytes at a time: the key repeats every four, so turning it to the
  // offset once is enough.
  std::array<std::uint8_t, 8> turned;
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = mask[(offset + i) % 4];
  auto key = std::bit_cast<std::uint64_t>(turned);
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    word ^= key;
    std::memcpy(bytes.data() + i, &word, 8);
  }
  for (std::size_t k = 0; i < bytes.size(); ++i, ++k) {
    bytes[i] = static_cast<char>(static_cast<std::uint8_t>(bytes[i]) ^ turned[k]);
  }
}

bool is_sendable(std::uint16_t code) {
  if (code >= 3000 && code <= 4999) return true;
  // 1004 to 1006 and 1015 are reserved; 1012 to 1014 were registered later.
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}

std::expected<ClosePayload, Violation> parse_close(std::string_view payload) {
  if (payload.empty()) return ClosePayload{.code = kCloseNoCode, .reason = {}};
  if (payload.size() == 1) return std::unexpected(Violation::kClosePayload);
  auto code = static_cast<std::uint16_t>(big_endian(payload.substr(0, 2)));
  if (!is_sendable(code)) return std::unexpected(Violation::kCloseCode);
  std::string_view reason = payload.substr(2);
  if (!is_utf8(reason)) return std::unexpected(Violation::kBadUtf8);
  return ClosePayload{.code = code, .reason = std::string(reason)};
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string out;
  append_big_endian(out, code, 2);
  if (reason.size() > kMaxCloseReasonBytes) {
    std::size_t end = kMaxCloseReasonBytes;
    while (end > 0 && (static_cast<std::uint8_t>(reason[end]) & 0xC0) == 0x80) --end;
    reason = reason.substr(0, end);
  }
  if (is_utf8(reason)) out.append(reason);
  return out;
}

}  // namespace base::ws

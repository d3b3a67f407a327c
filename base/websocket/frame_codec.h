#pragma once

// The frame: how a message is laid out in bytes. Values and bytes only, no I/O
// and no state. What RFC 6455 forbids to send is refused here before a byte of
// the payload is looked at.
// Source: RFC 6455, sections 5.2, 5.3, 5.5 and 7.4.

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace base::ws {

enum class Opcode : std::uint8_t {
  kContinuation = 0x0,
  kText = 0x1,
  kBinary = 0x2,
  kClose = 0x8,
  kPing = 0x9,
  kPong = 0xA,
};

[[nodiscard]] constexpr bool is_control(Opcode opcode) {
  return static_cast<std::uint8_t>(opcode) >= 0x8;
}

/// Which end a frame comes from: a client masks, a server does not.
enum class Sender : std::uint8_t { kClient, kServer };

/// Why a peer's bytes are refused. Each has its sentence in the standard.
enum class Violation : std::uint8_t {
  kReservedBits,            ///< 5.2: no extension was agreed on.
  kUnknownOpcode,           ///< 5.2.
  kNotMasked,               ///< 5.1: a client must mask.
  kMasked,                  ///< 5.1: a server must not.
  kLengthNotShortest,       ///< 5.2: the minimal number of bytes must be used.
  kLengthTopBit,            ///< 5.2: of a 64-bit length must be 0.
  kControlTooLong,          ///< 5.5: 125 bytes at most.
  kControlFragmented,       ///< 5.5.
  kUnexpectedContinuation,  ///< 5.4: nothing to continue.
  kInterleaved,             ///< 5.4: a new message inside a fragmented one.
  kClosePayload,            ///< 5.5.1: a single byte cannot hold a code.
  kCloseCode,               ///< 7.4: a code that must not be sent.
  kBadUtf8,                 ///< 8.1: in a text or a close reason.
  kTooLarge,                ///< Not in the standard: over our limit of bytes.
  kTooManyFragments,        ///< Likewise, of fragments.
};

/// In a few words, for the close reason and the log.
[[nodiscard]] std::string_view to_string(Violation violation);
/// The close code that answers it. Source: RFC 6455, section 7.4.1.
[[nodiscard]] std::uint16_t close_code(Violation violation);

using Mask = std::array<std::uint8_t, 4>;

inline constexpr std::size_t kMaxHeaderBytes = 14;
inline constexpr std::size_t kMaxControlBytes = 125;
inline constexpr std::size_t kMaxCloseReasonBytes = kMaxControlBytes - 2;

struct FrameHeader {
  bool final = true;
  Opcode opcode = Opcode::kText;
  std::optional<Mask> mask;
  std::uint64_t length = 0;  ///< Of the payload.
  std::size_t size = 0;      ///< Of the header itself.
};

/// Parses the header at the start of `bytes`; nothing while it is incomplete.
/// Refused as early as the bytes that break a rule are there.
[[nodiscard]] std::expected<std::optional<FrameHeader>, Violation> parse_header(
    std::string_view bytes, Sender sender);

/// Appends the header of a frame; `header.size` is not looked at.
void append_header(std::string& out, const FrameHeader& header);

/// Masks or unmasks in place; `offset` is the position of bytes[0] within the
/// frame's payload. Source: RFC 6455, section 5.3.
void apply_mask(std::span<char> bytes, const Mask& mask, std::uint64_t offset = 0);

struct ClosePayload {
  std::uint16_t code = 0;  ///< 1005 when the frame was empty.
  std::string reason;
};

/// Whether an endpoint may put `code` into a close frame: the registered ones
/// that are not reserved, and 3000 to 4999. Source: RFC 6455, section 7.4.
[[nodiscard]] bool is_sendable(std::uint16_t code);

[[nodiscard]] std::expected<ClosePayload, Violation> parse_close(std::string_view payload);
/// The payload of a close frame; the reason is cut to 123 bytes of whole
/// characters. `code` must be sendable.
[[nodiscard]] std::string close_payload(std::uint16_t code, std::string_view reason);

}  // namespace base::ws

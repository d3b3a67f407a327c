#pragma once

// Bytes of a peer in, messages and control frames out. A state machine without
// I/O: it can be fed any bytes cut anywhere. It never holds more than one
// message up to its limit, and takes no byte of a message that is over it.
// Source: RFC 6455, sections 5.4, 5.5, 6.2 and 8.1.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/websocket/connection.h"
#include "base/websocket/frame_codec.h"

namespace base::ws {

class MessageDecoder {
 public:
  enum class Event : std::uint8_t {
    kNeedMore,   ///< All bytes given are used.
    kMessage,    ///< take_message() has one.
    kPing,       ///< control() is its payload.
    kPong,       ///< Likewise.
    kClose,      ///< close() tells what was sent; nothing may follow.
    kViolation,  ///< violation() tells which; the stream cannot be read on.
  };
  struct Step {
    std::size_t used;  ///< Bytes of the input that are done with.
    Event event;
  };

  MessageDecoder(Sender sender, std::size_t message_bytes, std::size_t fragments)
      : sender_(sender), message_bytes_(message_bytes), fragments_(fragments) {}

  /// Works up to the first event. After kViolation or kClose do not call again.
  [[nodiscard]] Step feed(std::string_view bytes);

  void set_message_limit(std::size_t bytes) { message_bytes_ = bytes; }
  [[nodiscard]] Message take_message();
  [[nodiscard]] const std::string& control() const { return control_; }
  [[nodiscard]] const ClosePayload& close() const { return close_; }
  [[nodiscard]] Violation violation() const { return violation_; }
  /// Bytes of payload still to come in the frame at hand; how much to read.
  [[nodiscard]] std::uint64_t missing() const { return frame_ ? frame_->length - taken_ : 0; }

 private:
  [[nodiscard]] std::optional<Violation> begin_frame(const FrameHeader& header);
  [[nodiscard]] std::optional<Violation> begin_data(const FrameHeader& header);
  [[nodiscard]] std::size_t take_payload(std::string_view bytes);
  [[nodiscard]] Event end_frame();
  [[nodiscard]] Event end_message();
  [[nodiscard]] Event fail(Violation violation);

  Sender sender_;
  std::size_t message_bytes_;
  std::size_t fragments_;

  std::string head_;                  ///< A header that came in pieces.
  std::optional<FrameHeader> frame_;  ///< Whose payload is being taken.
  std::uint64_t taken_ = 0;
  bool in_message_ = false;
  std::size_t fragments_seen_ = 0;
  Message message_;
  std::string control_;
  ClosePayload close_;
  Violation violation_ = Violation::kReservedBits;
};

}  // namespace base::ws

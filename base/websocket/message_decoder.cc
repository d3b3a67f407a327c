#include "base/websocket/message_decoder.h"

#include <algorithm>
#include <utility>

#include "base/core/text.h"

namespace base::ws {

MessageDecoder::Step MessageDecoder::feed(std::string_view bytes) {
  std::size_t used = 0;
  for (;;) {
    if (!frame_) {
      std::string_view rest = bytes.substr(used);
      // A header cut by the end of the input is kept here until it is whole.
      std::size_t kept = head_.size();
      if (kept > 0) head_.append(rest.substr(0, kMaxHeaderBytes - kept));
      auto header = parse_header(kept > 0 ? std::string_view(head_) : rest, sender_);
      if (!header) return {bytes.size(), fail(header.error())};
      if (!*header) {
        if (kept == 0) head_ = rest;
        return {bytes.size(), Event::kNeedMore};
      }
      used += (*header)->size - kept;
      head_.clear();
      if (auto broken = begin_frame(**header)) return {used, fail(*broken)};
    }
    used += take_payload(bytes.substr(used));
    if (taken_ < frame_->length) return {used, Event::kNeedMore};
    Event event = end_frame();
    if (event != Event::kNeedMore) return {used, event};
  }
}

std::optional<Violation> MessageDecoder::begin_frame(const FrameHeader& header) {
  if (is_control(header.opcode)) {
    control_.clear();
  } else if (auto broken = begin_data(header)) {
    return broken;
  }
  frame_ = header;
  taken_ = 0;
  return std::nullopt;
}

std::optional<Violation> MessageDecoder::begin_data(const FrameHeader& header) {
  bool continues = header.opcode == Opcode::kContinuation;
  if (continues && !in_message_) return Violation::kUnexpectedContinuation;
  if (!continues && in_message_) return Violation::kInterleaved;
  if (!continues) {
    message_.kind = header.opcode == Opcode::kText ? Message::Kind::kText : Message::Kind::kBinary;
    message_.data.clear();
    fragments_seen_ = 0;
    in_message_ = true;
  }
  if (header.length > message_bytes_ || message_.data.size() > message_bytes_ - header.length) {
    return Violation::kTooLarge;
  }
  if (++fragments_seen_ > fragments_) return Violation::kTooManyFragments;
  return std::nullopt;
}

std::size_t MessageDecoder::take_payload(std::string_view bytes) {
  std::string& into = is_control(frame_->opcode) ? control_ : message_.data;
  std::size_t n = std::min<std::uint64_t>(bytes.size(), frame_->length - taken_);
  std::size_t before = into.size();
  into.append(bytes.substr(0, n));
  if (frame_->mask) {
    apply_mask(std::span(into.data() + before, n), *frame_->mask, taken_);
  }
  taken_ += n;
  return n;
}

MessageDecoder::Event MessageDecoder::end_frame() {
  FrameHeader frame = *std::exchange(frame_, std::nullopt);
  switch (frame.opcode) {
    case Opcode::kPing: return Event::kPing;
    case Opcode::kPong: return Event::kPong;
    case Opcode::kClose: {
      auto parsed = parse_close(control_);
      if (!parsed) return fail(parsed.error());
      close_ = std::move(*parsed);
      return Event::kClose;
    }
    default: return frame.final ? end_message() : Event::kNeedMore;
  }
}

MessageDecoder::Event MessageDecoder::end_message() {
  in_message_ = false;
  if (message_.kind == Message::Kind::kText && !is_utf8(message_.data)) {
    return fail(Violation::kBadUtf8);
  }
  return Event::kMessage;
}

MessageDecoder::Event MessageDecoder::fail(Violation violation) {
  violation_ = violation;
  return Event::kViolation;
}

Message MessageDecoder::take_message() { return std::exchange(message_, Message()); }

}  // namespace base::ws

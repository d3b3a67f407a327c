#include "base/websocket/message_decoder.h"

#include <gtest/gtest.h>

#include <vector>

namespace base::ws {
namespace {

using Event = MessageDecoder::Event;

constexpr std::size_t kLimit = 1000;
constexpr std::size_t kFragments = 8;

std::string frame(Opcode opcode, std::string payload, bool final = true) {
  Mask mask{0xA1, 0x5B, 0x00, 0xFF};
  std::string out;
  append_header(out, {.final = final, .opcode = opcode, .mask = mask, .length = payload.size()});
  apply_mask(payload, mask);
  return out + payload;
}
constexpr bool kMore = false;  // As the `final` of a frame.

std::string kind_of(const Message& message) {
  return message.kind == Message::Kind::kText ? "text " : "binary ";
}

// What the decoder says to `bytes`, given in steps of `step` bytes.
std::vector<std::string> events(std::string_view bytes, std::size_t step) {
  MessageDecoder decoder(Sender::kClient, kLimit, kFragments);
  std::vector<std::string> out;
  while (!bytes.empty()) {
    std::string_view chunk = bytes.substr(0, step);
    bytes.remove_prefix(chunk.size());
    for (;;) {
      auto [used, event] = decoder.feed(chunk);
      chunk.remove_prefix(used);
      if (event == Event::kNeedMore) {
        EXPECT_TRUE(chunk.empty());
        break;
      }
      if (event == Event::kMessage) {
        Message message = decoder.take_message();
        out.push_back(kind_of(message) + message.data);
      }
      if (event == Event::kPing) out.push_back("ping " + decoder.control());
      if (event == Event::kPong) out.push_back("pong " + decoder.control());
      if (event == Event::kClose) {
        out.push_back("close " + std::to_string(decoder.close().code) + decoder.close().reason);
        return out;
      }
      if (event == Event::kViolation) {
        out.push_back(std::string("! ").append(to_string(decoder.violation())));
        return out;
      }
    }
  }
  return out;
}

struct Case {
  const char* name;
  std::string bytes;
  std::vector<std::string> expected;
};

std::string repeat(const std::string& bytes, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += bytes;
  return out;
}

std::vector<Case> cases() {
  using enum Opcode;
  return {
      {"5.6 text", frame(kText, "hi"), {"text hi"}},
      {"5.6 binary", frame(kBinary, "\xFF\xFE"), {"binary \xFF\xFE"}},
      {"5.6 empty text", frame(kText, ""), {"text "}},
      {"5.4 two fragments", frame(kText, "a", kMore) + frame(kContinuation, "b"), {"text ab"}},
      {"5.4 empty fragments",
       frame(kBinary, "", kMore) + frame(kContinuation, "", kMore) + frame(kContinuation, ""),
       {"binary "}},
      {"5.4 control frames inside a fragmented message",
       frame(kText, "a", kMore) + frame(kPing, "1") + frame(kContinuation, "b", kMore) +
           frame(kPong, "2") + frame(kContinuation, "c"),
       {"ping 1", "pong 2", "text abc"}},
      {"5.4 nothing to continue", frame(kContinuation, "x"), {"! nothing to continue"}},
      {"5.4 nothing to continue after a whole message",
       frame(kText, "a") + frame(kContinuation, "x"),
       {"text a", "! nothing to continue"}},
      {"5.4 text inside a fragmented text",
       frame(kText, "a", kMore) + frame(kText, "b"),
       {"! message inside a fragmented message"}},
      {"5.4 binary inside a fragmented text",
       frame(kText, "a", kMore) + frame(kBinary, "b"),
       {"! message inside a fragmented message"}},
      {"5.5.2 ping of 125 bytes",
       frame(kPing, std::string(125, 'p')),
       {"ping " + std::string(125, 'p')}},
      {"5.5.1 close", frame(kClose, close_payload(1001, "bye")), {"close 1001bye"}},
      {"5.5.1 empty close", frame(kClose, ""), {"close 1005"}},
      {"5.5.1 close of one byte", frame(kClose, "x"), {"! malformed close frame"}},
      {"7.4 close code 999", frame(kClose, close_payload(999, "")), {"! close code not allowed"}},
      {"5.5.1 close inside a fragmented message",
       frame(kText, "a", kMore) + frame(kClose, close_payload(1000, "")),
       {"close 1000"}},
      {"8.1 character split over fragments",
       frame(kText, "\xE2\x82", kMore) + frame(kContinuation, "\xAC"),
       {"text \xE2\x82\xAC"}},
      {"8.1 cut character at the end", frame(kText, "\xE2\x82"), {"! text is not UTF-8"}},
      {"8.1 surrogate", frame(kText, "\xED\xA0\x80"), {"! text is not UTF-8"}},
      {"8.1 overlong", frame(kText, "\xC0\xAF"), {"! text is not UTF-8"}},
      {"8.1 after long ASCII",
       frame(kText, std::string(64, 'a') + "\xFF"),
       {"! text is not UTF-8"}},
      {"8.1 binary is not checked", frame(kBinary, "\xC0\xAF"), {"binary \xC0\xAF"}},
      {"10.4 message of the limit",
       frame(kText, std::string(kLimit, 'a')),
       {"text " + std::string(kLimit, 'a')}},
      {"10.4 one byte over the limit",
       frame(kText, std::string(kLimit + 1, 'a')),
       {"! message too large"}},
      {"10.4 over the limit in the second fragment",
       frame(kText, std::string(kLimit, 'a'), kMore) + frame(kContinuation, "b"),
       {"! message too large"}},
      {"10.4 as many fragments as allowed",
       frame(kText, "a", kMore) + repeat(frame(kContinuation, "", kMore), kFragments - 2) +
           frame(kContinuation, "z"),
       {"text az"}},
      {"10.4 one fragment too many",
       frame(kText, "a", kMore) + repeat(frame(kContinuation, "", kMore), kFragments),
       {"! too many fragments"}},
      {"5.1 unmasked", "\x81\x01x", {"! frame not masked"}},
      {"several messages in one read",
       frame(kText, "1") + frame(kText, "2") + frame(kBinary, "3"),
       {"text 1", "text 2", "binary 3"}},
  };
}

TEST(MessageDecoderTest, says_the_same_however_the_bytes_are_cut) {
  for (const Case& c : cases()) {
    for (std::size_t step : {1, 2, 3, 5, 7, 13, 64, 100'000}) {
      EXPECT_EQ(events(c.bytes, step), c.expected) << c.name << ", in steps of " << step;
    }
  }
}

TEST(MessageDecoderTest, size_over_the_limit_is_refused_by_the_header_alone) {
  std::string header;
  append_header(header, {.opcode = Opcode::kBinary, .mask = Mask{}, .length = kLimit + 1});
  EXPECT_EQ(events(header, 1), std::vector<std::string>{"! message too large"});
  header.clear();
  append_header(header,
                {.opcode = Opcode::kBinary, .mask = Mask{}, .length = 0x7FFF'FFFF'FFFF'FFFF});
  EXPECT_EQ(events(header, 100), std::vector<std::string>{"! message too large"});
}

TEST(MessageDecoderTest, limit_may_be_raised_between_messages) {
  MessageDecoder decoder(Sender::kClient, 2, kFragments);
  EXPECT_EQ(decoder.feed(frame(Opcode::kText, "12")).event, Event::kMessage);
  decoder.set_message_limit(3);
  EXPECT_EQ(decoder.feed(frame(Opcode::kText, "123")).event, Event::kMessage);
  EXPECT_EQ(decoder.feed(frame(Opcode::kText, "1234")).event, Event::kViolation);
}

TEST(MessageDecoderTest, limit_lowered_inside_a_message_holds_for_its_next_fragment) {
  MessageDecoder decoder(Sender::kClient, 100, kFragments);
  EXPECT_EQ(decoder.feed(frame(Opcode::kText, "1234", kMore)).event, Event::kNeedMore);
  decoder.set_message_limit(3);
  EXPECT_EQ(decoder.feed(frame(Opcode::kContinuation, "")).event, Event::kViolation);
  EXPECT_EQ(decoder.violation(), Violation::kTooLarge);
}

TEST(MessageDecoderTest, tells_how_much_of_a_frame_is_missing) {
  MessageDecoder decoder(Sender::kClient, kLimit, kFragments);
  EXPECT_EQ(decoder.missing(), 0u);
  std::string bytes = frame(Opcode::kBinary, std::string(100, 'x'));
  EXPECT_EQ(decoder.feed(std::string_view(bytes).substr(0, 16)).event, Event::kNeedMore);
  EXPECT_EQ(decoder.missing(), 90u);
}

TEST(MessageDecoderTest, reads_a_server_which_does_not_mask) {
  MessageDecoder decoder(Sender::kServer, kLimit, kFragments);
  EXPECT_EQ(decoder.feed("\x81\x02hi").event, Event::kMessage);
  EXPECT_EQ(decoder.take_message().data, "hi");
  EXPECT_EQ(decoder.feed(frame(Opcode::kText, "x")).event, Event::kViolation);
  EXPECT_EQ(decoder.violation(), Violation::kMasked);
}

}  // namespace
}  // namespace base::ws

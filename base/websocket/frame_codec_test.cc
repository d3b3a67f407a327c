#include "base/websocket/frame_codec.h"

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

#include "base/websocket/connection.h"

namespace base::ws {
namespace {

using namespace std::string_view_literals;

std::string header_bytes(bool final, Opcode opcode, std::uint64_t length,
                         std::optional<Mask> mask = {}) {
  std::string out;
  append_header(out, {.final = final, .opcode = opcode, .mask = mask, .length = length});
  return out;
}

TEST(FrameCodecTest, header_comes_back_the_same_at_every_boundary_of_its_length) {
  struct Case {
    std::uint64_t length;
    std::size_t size;
  };
  for (auto [length, size] :
       {Case{0, 2}, Case{1, 2}, Case{125, 2}, Case{126, 4}, Case{127, 4}, Case{0xFFFF, 4},
        Case{0x10000, 10}, Case{0x7FFF'FFFF'FFFF'FFFF, 10}}) {
    for (bool masked : {false, true}) {
      std::optional<Mask> mask;
      if (masked) mask = Mask{1, 2, 3, 4};
      std::string bytes = header_bytes(false, Opcode::kBinary, length, mask);
      auto parsed = parse_header(bytes, masked ? Sender::kClient : Sender::kServer);
      ASSERT_TRUE(parsed && *parsed) << length;
      EXPECT_EQ((*parsed)->length, length);
      EXPECT_EQ((*parsed)->size, size + (masked ? 4 : 0));
      EXPECT_EQ((*parsed)->size, bytes.size());
      EXPECT_EQ((*parsed)->mask, mask);
      EXPECT_FALSE((*parsed)->final);
      EXPECT_EQ((*parsed)->opcode, Opcode::kBinary);
    }
  }
}

TEST(FrameCodecTest, incomplete_header_is_neither_accepted_nor_refused) {
  std::string bytes = header_bytes(true, Opcode::kText, 0x10000, Mask{9, 8, 7, 6});
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    auto parsed = parse_header(std::string_view(bytes).substr(0, n), Sender::kClient);
    ASSERT_TRUE(parsed.has_value()) << n;
    EXPECT_FALSE(parsed->has_value()) << n;
  }
}

TEST(FrameCodecTest, refuses_what_the_standard_forbids) {
  struct Case {
    const char* name;
    std::string_view bytes;
    Sender sender;
    Violation violation;
  };
  const Case cases[] = {
      {"5.2 reserved bit 1", "\xC1"sv, Sender::kClient, Violation::kReservedBits},
      {"5.2 reserved bit 2", "\xA1"sv, Sender::kClient, Violation::kReservedBits},
      {"5.2 reserved bit 3", "\x91"sv, Sender::kClient, Violation::kReservedBits},
      {"5.2 length of two bytes that fits one", "\x82\x7E\x00\x7D"sv, Sender::kServer,
       Violation::kLengthNotShortest},
      {"5.2 length of eight bytes that fits two", "\x82\x7F\0\0\0\0\0\0\xFF\xFF"sv, Sender::kServer,
       Violation::kLengthNotShortest},
      {"5.2 length with the top bit", "\x82\x7F\x80\0\0\0\0\1\0\0"sv, Sender::kServer,
       Violation::kLengthTopBit},
      {"5.1 unmasked client", "\x81\x05"sv, Sender::kClient, Violation::kNotMasked},
      {"5.1 masked server", "\x81\x85"sv, Sender::kServer, Violation::kMasked},
      {"5.5 ping of 126 bytes", "\x89\xFE"sv, Sender::kClient, Violation::kControlTooLong},
      {"5.5 close of 126 bytes", "\x88\xFE"sv, Sender::kClient, Violation::kControlTooLong},
      {"5.5 pong of 64 KiB", "\x8A\xFF"sv, Sender::kClient, Violation::kControlTooLong},
      {"5.5 fragmented ping", "\x09"sv, Sender::kClient, Violation::kControlFragmented},
      {"5.5 fragmented pong", "\x0A"sv, Sender::kClient, Violation::kControlFragmented},
      {"5.5 fragmented close", "\x08"sv, Sender::kClient, Violation::kControlFragmented},
  };
  for (const Case& c : cases) {
    auto parsed = parse_header(c.bytes, c.sender);
    ASSERT_FALSE(parsed.has_value()) << c.name;
    EXPECT_EQ(parsed.error(), c.violation) << c.name;
  }
}

TEST(FrameCodecTest, knows_exactly_the_six_opcodes) {
  for (unsigned opcode = 0; opcode < 16; ++opcode) {
    char first = static_cast<char>(0x80 | opcode);
    auto parsed = parse_header({&first, 1}, Sender::kClient);
    bool known = opcode <= 2 || (opcode >= 8 && opcode <= 10);
    EXPECT_EQ(parsed.has_value(), known) << opcode;
    if (!known) {
      EXPECT_EQ(parsed.error(), Violation::kUnknownOpcode);
    }
  }
}

TEST(FrameCodecTest, control_frame_of_125_bytes_is_allowed) {
  auto parsed = parse_header("\x89\xFD\1\2\3\4"sv, Sender::kClient);
  ASSERT_TRUE(parsed && *parsed);
  EXPECT_EQ((*parsed)->length, 125u);
}

TEST(FrameCodecTest, mask_is_the_same_in_one_go_and_in_pieces) {
  const Mask mask{0x37, 0xfa, 0x21, 0x3d};
  std::string whole;
  for (int i = 0; i < 61; ++i) whole.push_back(static_cast<char>(i * 7));
  std::string expected = whole;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = static_cast<char>(static_cast<unsigned char>(expected[i]) ^ mask[i % 4]);
  }
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    std::string bytes = whole;
    apply_mask(std::span(bytes).first(cut), mask, 0);
    apply_mask(std::span(bytes).subspan(cut), mask, cut);
    EXPECT_EQ(bytes, expected) << cut;
  }
}

// Source: RFC 6455, section 5.7.
TEST(FrameCodecTest, masks_the_example_of_the_standard) {
  std::string hello = "Hello";
  apply_mask(hello, Mask{0x37, 0xfa, 0x21, 0x3d});
  EXPECT_EQ(hello, "\x7f\x9f\x4d\x51\x58");
}

TEST(FrameCodecTest, close_codes_that_may_be_sent) {
  struct Range {
    unsigned from, to;
    bool sendable;
  };
  for (auto [from, to, sendable] :
       {Range{0, 999, false}, Range{1000, 1003, true}, Range{1004, 1006, false},
        Range{1007, 1014, true}, Range{1015, 2999, false}, Range{3000, 4999, true},
        Range{5000, 65535, false}}) {
    for (unsigned code = from; code <= to; ++code) {
      ASSERT_EQ(is_sendable(static_cast<std::uint16_t>(code)), sendable) << code;
    }
  }
}

TEST(FrameCodecTest, close_payload_comes_back_the_same) {
  auto parsed = parse_close(close_payload(4401, "who are you? \xC3\xA9"));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->code, 4401);
  EXPECT_EQ(parsed->reason, "who are you? \xC3\xA9");
}

TEST(FrameCodecTest, close_without_payload_has_no_code) {
  auto parsed = parse_close("");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->code, kCloseNoCode);
}

TEST(FrameCodecTest, refuses_malformed_close_payloads) {
  struct Case {
    const char* name;
    std::string_view payload;
    Violation violation;
  };
  for (const Case& c :
       {Case{"one byte", "\x03"sv, Violation::kClosePayload},
        Case{"1005 sent", "\x03\xED"sv, Violation::kCloseCode},
        Case{"1006 sent", "\x03\xEE"sv, Violation::kCloseCode},
        Case{"0", "\0\0"sv, Violation::kCloseCode},
        Case{"reason not UTF-8", "\x03\xE8\xFF"sv, Violation::kBadUtf8},
        Case{"reason cut inside a character", "\x03\xE8\xC3"sv, Violation::kBadUtf8}}) {
    auto parsed = parse_close(c.payload);
    ASSERT_FALSE(parsed.has_value()) << c.name;
    EXPECT_EQ(parsed.error(), c.violation) << c.name;
  }
}

TEST(FrameCodecTest, long_close_reason_is_cut_between_characters) {
  std::string reason(122, 'x');
  reason += "\xC3\xA9 and more";  // The two bytes are the 123rd and the 124th.
  std::string payload = close_payload(1000, reason);
  EXPECT_EQ(payload.size(), 2u + 122u);
  EXPECT_TRUE(parse_close(payload).has_value());
  EXPECT_EQ(close_payload(1000, std::string(123, 'y')).size(), 125u);
  EXPECT_EQ(close_payload(1000, std::string(124, 'y')).size(), 125u);
  EXPECT_EQ(close_payload(1000, "\xFF").size(), 2u);
}

TEST(FrameCodecTest, every_violation_has_a_text_and_a_sendable_code) {
  for (int i = 0; i <= static_cast<int>(Violation::kTooManyFragments); ++i) {
    EXPECT_FALSE(to_string(Violation(i)).empty());
    EXPECT_TRUE(is_sendable(close_code(Violation(i))));
  }
}

}  // namespace
}  // namespace base::ws

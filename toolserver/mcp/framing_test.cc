#include "toolserver/mcp/framing.h"

#include <gtest/gtest.h>

namespace tool::mcp {
namespace {

using Lines = std::vector<std::string>;

TEST(McpLineReaderTest, parts_lines_wherever_the_pieces_end) {
  LineReader reader(16);
  EXPECT_EQ(reader.feed("{\"a\"").value(), Lines{});
  EXPECT_EQ(reader.feed(":1}\r").value(), Lines{});
  EXPECT_EQ(reader.feed("\n\n\r\n{}\n{").value(), (Lines{"{\"a\":1}", "{}"}));
  EXPECT_EQ(reader.feed("}\n").value(), Lines{"{}"});
}

TEST(McpLineReaderTest, refuses_a_line_over_the_bound_for_good) {
  LineReader reader(8);
  EXPECT_TRUE(reader.feed("12345678\n"));
  EXPECT_TRUE(reader.feed("12345678"));
  auto over = reader.feed("9");
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().kind(), base::ErrorKind::kTooLarge);
  EXPECT_FALSE(reader.feed("\n"));
}

std::vector<Event> read_bytewise(std::string_view stream) {
  EventReader reader(1024);
  std::vector<Event> all;
  for (char c : stream) {
    auto events = reader.feed(std::string_view(&c, 1));
    EXPECT_TRUE(events);
    for (Event& one : *events) all.push_back(std::move(one));
  }
  return all;
}

TEST(McpEventReaderTest, reads_what_is_written) {
  std::string stream;
  append_event(stream, R"({"jsonrpc":"2.0"})");
  stream += kKeepAlive;
  append_event(stream, "{}");
  std::vector<Event> expected{{R"({"jsonrpc":"2.0"})", "message", ""}, {"{}", "message", ""}};
  EventReader reader(1024);
  EXPECT_EQ(reader.feed(stream).value(), expected);
  EXPECT_EQ(read_bytewise(stream), expected);
}

TEST(McpEventReaderTest, reads_the_forms_of_the_standard) {
  std::string stream =
      "\xEF\xBB\xBF"
      "event: endpoint\r\ndata:a\r\ndata: b\r\nid: 7\r\n\r\n"
      "data\n\n"
      "retry: 250\rid: 8\rdata: \r\r"
      "unknown: x\n:comment\n\n"
      "data: never ended";
  std::vector<Event> expected{{"a\nb", "endpoint", "7"}, {"", "message", ""}, {"", "message", "8"}};
  EXPECT_EQ(read_bytewise(stream), expected);
  EventReader reader(1024);
  EXPECT_EQ(reader.feed(stream).value(), expected);
  EXPECT_EQ(reader.retry(), 250U);
}

TEST(McpEventReaderTest, refuses_an_event_over_the_bound_for_good) {
  EventReader line(32);
  EXPECT_TRUE(line.feed("data: 12345678\n\n"));
  EXPECT_FALSE(line.feed("data: " + std::string(32, 'x')));
  EXPECT_FALSE(line.feed("\n\n"));
  EventReader many(32);
  bool refused = false;
  for (int i = 0; i < 10 && !refused; ++i) refused = !many.feed("data: 1234567\n");
  EXPECT_TRUE(refused) << "data lines without an end add up";
}

TEST(McpHeaderTest, takes_any_text_through_a_field) {
  EXPECT_EQ(encode_header("files.read"), "files.read");
  EXPECT_EQ(encode_header("käse"), "=?base64?a8Okc2U=?=");
  for (const char* text : {"files.read", "käse", " spaces ", "", "line\nend", "=?base64?eA==?="}) {
    EXPECT_EQ(decode_header(encode_header(text)), text);
  }
}

TEST(McpHeaderTest, refuses_a_plain_value_that_is_no_text) {
  EXPECT_EQ(decode_header("grüße"), "grüße");
  EXPECT_EQ(decode_header("caf\xE9"), std::nullopt) << "Latin-1";
}

TEST(McpHeaderTest, refuses_broken_base64) {
  EXPECT_EQ(decode_header("=?base64?a8Okc2U?="), std::nullopt) << "padding is missing";
  EXPECT_EQ(decode_header("=?base64?*?="), std::nullopt);
  EXPECT_EQ(decode_header("=?base64?/w==?="), std::nullopt) << "not UTF-8";
  EXPECT_EQ(decode_header("=?base64?="), std::nullopt);
}

}  // namespace
}  // namespace tool::mcp

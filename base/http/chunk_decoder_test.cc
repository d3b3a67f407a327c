#include "base/http/chunk_decoder.h"

#include <gtest/gtest.h>

namespace base::http {
namespace {

using State = ChunkDecoder::State;

struct Case {
  std::string_view name;
  std::string_view bytes;
  State state;
  std::string_view body;
  std::size_t left = 0;  ///< Bytes that belong to the next request.
};

constexpr std::size_t kBodyBytes = 16;
constexpr std::size_t kOverheadBytes = 8;

const Case kCases[] = {
    {"empty body", "0\r\n\r\n", State::kDone, ""},
    {"one chunk", "3\r\nabc\r\n0\r\n\r\n", State::kDone, "abc"},
    {"two chunks and a request after", "1\r\na\r\n2\r\nbc\r\n0\r\n\r\nGET", State::kDone, "abc", 3},
    {"data that looks like coding", "5\r\n0\r\n\r\n\r\n0\r\n\r\n", State::kDone, "0\r\n\r\n"},
    {"capital hexadecimal and zeros", "00A\r\n0123456789\r\n000\r\n\r\n", State::kDone,
     "0123456789"},
    {"exact limit", "10\r\n0123456789abcdef\r\n0\r\n\r\n", State::kDone, "0123456789abcdef"},
    {"over the limit", "11\r\n", State::kTooLarge, ""},
    {"over the limit together", "10\r\n0123456789abcdef\r\n1\r\n", State::kTooLarge,
     "0123456789abcdef"},
    {"size of 15 digits", "fffffffffffffff\r\n", State::kTooLarge, ""},
    {"size of 16 digits", "ffffffffffffffff\r\n", State::kMalformed, ""},
    {"extension within bounds", "1;a=b\r\nx\r\n0\r\n\r\n", State::kDone, "x"},
    {"extensions at the bound", "1;abcd\r\nx\r\n0;efgh\r\n\r\n", State::kDone, "x"},
    {"extensions over the bound", "1;abcd\r\nx\r\n0;efghi\r\n\r\n", State::kTooLarge, "x"},
    {"trailer is dropped", "0\r\nA: b\r\n\r\n", State::kDone, ""},
    {"trailers over the bound", "0\r\nA: b\r\nC: de\r\n\r\n", State::kTooLarge, ""},
    {"no size", "\r\n", State::kMalformed, ""},
    {"not hexadecimal", "g\r\n", State::kMalformed, ""},
    {"signed size", "+1\r\n", State::kMalformed, ""},
    {"prefix 0x", "0x1\r\n", State::kMalformed, ""},
    {"space after the size", "1 \r\nx\r\n", State::kMalformed, ""},
    {"bare LF after the size", "1\nx\r\n", State::kMalformed, ""},
    {"CR without LF", "1\rx", State::kMalformed, ""},
    {"bare LF in an extension", "1;a\nx", State::kMalformed, ""},
    {"data longer than its size", "1\r\nxy\r\n", State::kMalformed, "x"},
    {"bare LF after data", "1\r\nx\n", State::kMalformed, "x"},
    {"bare LF in a trailer", "0\r\nA\n", State::kMalformed, ""},
    {"bare LF at the end", "0\r\n\n", State::kMalformed, ""},
    {"unfinished", "3\r\nab", State::kMore, "ab"},
};

TEST(ChunkDecoderTest, decodes_or_refuses_in_one_piece) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    ChunkDecoder decoder(kBodyBytes, kOverheadBytes);
    std::string body;
    auto [used, state] = decoder.feed(c.bytes, body);
    EXPECT_EQ(state, c.state);
    EXPECT_EQ(body, c.body);
    if (state == State::kDone) EXPECT_EQ(c.bytes.size() - used, c.left);
  }
}

TEST(ChunkDecoderTest, decodes_the_same_byte_by_byte) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    ChunkDecoder decoder(kBodyBytes, kOverheadBytes);
    std::string body;
    State state = State::kMore;
    for (std::size_t i = 0; i < c.bytes.size() && state == State::kMore; ++i) {
      state = decoder.feed(c.bytes.substr(i, 1), body).state;
    }
    EXPECT_EQ(state, c.state);
    EXPECT_EQ(body, c.body);
  }
}

}  // namespace
}  // namespace base::http

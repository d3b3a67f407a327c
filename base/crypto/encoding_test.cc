#include "base/crypto/encoding.h"

#include <gtest/gtest.h>

namespace base::crypto {
namespace {

using Decode = Result<std::string> (*)(std::string_view, std::size_t);

TEST(EncodingTest, gives_the_texts_of_RFC_4648_section_10) {
  struct Case {
    std::string bytes, base64, base64url, hex;
  };
  for (const Case& c : {
           Case{"", "", "", ""},
           Case{"f", "Zg==", "Zg", "66"},
           Case{"fo", "Zm8=", "Zm8", "666f"},
           Case{"foo", "Zm9v", "Zm9v", "666f6f"},
           Case{"foob", "Zm9vYg==", "Zm9vYg", "666f6f62"},
           Case{"fooba", "Zm9vYmE=", "Zm9vYmE", "666f6f6261"},
           Case{"foobar", "Zm9vYmFy", "Zm9vYmFy", "666f6f626172"},
           Case{"\xfb\xff\xfe", "+//+", "-__-", "fbfffe"},
       }) {
    EXPECT_EQ(to_base64(c.bytes), c.base64);
    EXPECT_EQ(to_base64url(c.bytes), c.base64url);
    EXPECT_EQ(to_hex(c.bytes), c.hex);
    EXPECT_EQ(from_base64(c.base64, 6), c.bytes);
    EXPECT_EQ(from_base64url(c.base64url, 6), c.bytes);
    EXPECT_EQ(from_hex(c.hex, 6), c.bytes);
  }
}

TEST(EncodingTest, every_byte_comes_back_at_every_place) {
  for (std::size_t size = 1; size < 5; ++size) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes(size, static_cast<char>(value));
      EXPECT_EQ(from_base64url(to_base64url(bytes), size), bytes);
      EXPECT_EQ(from_base64(to_base64(bytes), size), bytes);
      EXPECT_EQ(from_hex(to_hex(bytes), size), bytes);
    }
  }
}

TEST(EncodingTest, refuses_what_is_not_the_one_text_of_its_bytes) {
  struct Case {
    std::string name;
    Decode decode;
    std::string text;
  };
  using namespace std::string_literals;
  for (const Case& c : {
           Case{"url: padding", from_base64url, "Zg=="},
           Case{"url: length 1", from_base64url, "Z"},
           Case{"url: length 5", from_base64url, "Zm9vY"},
           Case{"url: trailing bits of 4", from_base64url, "Zh"},
           Case{"url: trailing bits of 2", from_base64url, "Zm9"},
           Case{"url: letters of base64", from_base64url, "+//+"},
           Case{"url: space", from_base64url, "Zm 9v"},
           Case{"url: line end", from_base64url, "Zm9v\n"},
           Case{"url: zero byte", from_base64url, "Zm9\0"s},
           Case{"url: high byte", from_base64url, "Zm9\xc3"},
           Case{"64: no padding", from_base64, "Zg"},
           Case{"64: half padding", from_base64, "Zg="},
           Case{"64: too much padding", from_base64, "Z==="},
           Case{"64: only padding", from_base64, "===="},
           Case{"64: padding inside", from_base64, "Zg==Zg=="},
           Case{"64: trailing bits", from_base64, "Zh=="},
           Case{"64: letters of base64url", from_base64, "-__-"},
           Case{"hex: odd", from_hex, "abc"},
           Case{"hex: upper case", from_hex, "AB"},
           Case{"hex: not a digit", from_hex, "0g"},
           Case{"hex: sign", from_hex, "-1"},
       }) {
    auto decoded = c.decode(c.text, 64);
    ASSERT_FALSE(decoded) << c.name;
    EXPECT_EQ(decoded.error().kind(), ErrorKind::kInvalid) << c.name;
  }
}

TEST(EncodingTest, takes_as_many_bytes_as_allowed_and_not_one_more) {
  for (std::size_t size = 1; size < 9; ++size) {
    std::string bytes(size, 'x');
    for (auto [decode, text] : {std::pair<Decode, std::string>{from_base64url, to_base64url(bytes)},
                                {from_base64, to_base64(bytes)},
                                {from_hex, to_hex(bytes)}}) {
      EXPECT_EQ(decode(text, size), bytes);
      auto refused = decode(text, size - 1);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().kind(), ErrorKind::kTooLarge);
    }
  }
}

}  // namespace
}  // namespace base::crypto

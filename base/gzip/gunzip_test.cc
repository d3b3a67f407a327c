#include "base/gzip/gunzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <ctime>

namespace base::gzip {
namespace {

std::string pack(std::string_view data) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, data.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Gunzip, what_was_packed_comes_back) {
  for (const std::string& text : {std::string(), std::string("{}"), std::string(300'000, 'x')}) {
    const std::string packed = pack(text);
    EXPECT_TRUE(is_gzip(packed));
    auto again = gunzip(packed, 300'000);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, text);
  }
  EXPECT_FALSE(is_gzip("{\"format-version\": 2}"));
  EXPECT_FALSE(is_gzip(""));
}

TEST(Gunzip, members_follow_each_other) {
  EXPECT_EQ(gunzip(pack("one ") + pack("two"), 7).value(), "one two");
  auto both = gunzip(pack("one ") + pack("two"), 6);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().kind(), ErrorKind::kTooLarge);
}

TEST(Gunzip, empty_members_behind_a_large_one_cost_next_to_nothing) {
  const std::string large(16 << 20, 'x');
  const std::string empty = pack("");
  std::string file = pack(large);
  for (int i = 0; i < 50'000; ++i) file += empty;
  const std::clock_t began = std::clock();
  auto unpacked = gunzip(file, 64 << 20);
  const std::clock_t took = std::clock() - began;
  ASSERT_TRUE(unpacked) << unpacked.error().message();
  EXPECT_EQ(*unpacked, large);
  EXPECT_LT(took / CLOCKS_PER_SEC, 5);
}

TEST(Gunzip, a_bomb_ends_at_the_limit) {
  const std::string bomb = pack(std::string(64 << 20, '\0'));
  EXPECT_LT(bomb.size(), 100'000);
  auto unpacked = gunzip(bomb, 1 << 20);
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().kind(), ErrorKind::kTooLarge);
  EXPECT_TRUE(gunzip(bomb, 64 << 20)) << "the limit itself is allowed";
}

TEST(Gunzip, what_is_broken_is_refused) {
  const std::string packed = pack("some text that is long enough");
  std::string wrong_sum = packed;
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  for (const std::string& bytes : {std::string(), std::string("{}"), std::string("\x1f\x8b"),
                                   packed.substr(0, packed.size() - 1), packed + "x", wrong_sum}) {
    auto unpacked = gunzip(bytes, 1000);
    ASSERT_FALSE(unpacked);
    EXPECT_EQ(unpacked.error().kind(), ErrorKind::kCorrupt);
  }
}

}  // namespace
}  // namespace base::gzip

#include "base/avro/codec.h"

#include <gtest/gtest.h>

#include <string>

namespace base::avro {
namespace {

class CodecTest : public ::testing::TestWithParam<Codec> {};
/// Those whose packed form can be broken: any bytes are whole without a codec.
class PackingCodecTest : public CodecTest {};

std::string sample(std::size_t size) {
  std::string out;
  for (std::size_t i = 0; out.size() < size; ++i) out += "row " + std::to_string(i * i) + ';';
  out.resize(size);
  return out;
}

TEST_P(CodecTest, unpacks_what_it_packed) {
  for (std::size_t size : {0UL, 1UL, 65'536UL, 1'000'000UL}) {
    const std::string data = sample(size);
    auto back = decompress(GetParam(), compress(GetParam(), data), size);
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(*back, data);
  }
}

TEST_P(CodecTest, has_a_name) { EXPECT_EQ(parse_codec(to_string(GetParam())), GetParam()); }

TEST_P(CodecTest, stops_at_the_limit) {
  const std::string packed = compress(GetParam(), std::string(300'000, 'x'));
  EXPECT_TRUE(decompress(GetParam(), packed, 300'000));
  for (std::size_t limit : {0UL, 1UL, 299'999UL}) {
    auto refused = decompress(GetParam(), packed, limit);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::kTooLarge) << limit;
  }
}

TEST_P(PackingCodecTest, refuses_each_truncation) {
  const std::string packed = compress(GetParam(), sample(500));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    auto refused = decompress(GetParam(), std::string_view(packed).substr(0, size), 1000);
    EXPECT_FALSE(refused) << size;
  }
}

TEST_P(PackingCodecTest, refuses_bytes_behind_the_end) {
  auto refused = decompress(GetParam(), compress(GetParam(), sample(500)) + "12345", 1000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kCorrupt);
}

INSTANTIATE_TEST_SUITE_P(All, CodecTest,
                         ::testing::Values(Codec::kNull, Codec::kDeflate, Codec::kSnappy,
                                           Codec::kZstandard),
                         [](const auto& test) { return std::string(to_string(test.param)); });

INSTANTIATE_TEST_SUITE_P(All, PackingCodecTest,
                         ::testing::Values(Codec::kDeflate, Codec::kSnappy, Codec::kZstandard),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(DeflateTest, takes_the_rest_of_a_zlib_checksum) {
  auto data = decompress(Codec::kDeflate, compress(Codec::kDeflate, sample(500)) + "1234", 1000);
  ASSERT_TRUE(data) << data.error().message();
  EXPECT_EQ(*data, sample(500));
}

TEST(ParseCodecTest, unknown_name_is_nothing) {
  EXPECT_EQ(parse_codec("bzip2"), std::nullopt);
  EXPECT_EQ(parse_codec(""), std::nullopt);
}

}  // namespace
}  // namespace base::avro

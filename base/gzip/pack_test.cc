#include "base/gzip/pack.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/gzip/gunzip.h"

namespace base::gzip {
namespace {

std::string noise(std::size_t size) {
  std::uint32_t state = 7;
  std::string text(size, '\0');
  for (char& c : text) {
    state = state * 1'664'525 + 1'013'904'223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

std::string whole(const OpenMember& begun, std::string_view tail) {
  return begun.bytes + Tail(tail).after(begun);
}

TEST(Pack, text_and_tail_come_back_as_one_text) {
  const std::string random = noise(400'000);
  // Both ends of a stored block's length, of zlib's window, and of our first buffer.
  const std::size_t sizes[] = {0, 1, 5, 16'383, 32'768, 65'534, 65'535, 65'536, 131'070, 200'000};
  for (std::size_t size : sizes) {
    for (std::size_t tail : sizes) {
      for (const std::string& all :
           {std::string(size + tail, 'x'), random.substr(0, size + tail)}) {
        auto begun = pack(std::string_view(all).substr(0, size));
        ASSERT_TRUE(begun) << begun.error().message();
        auto again = gunzip(whole(*begun, std::string_view(all).substr(size)), all.size());
        ASSERT_TRUE(again) << size << "+" << tail << ": " << again.error().message();
        EXPECT_TRUE(*again == all) << size << "+" << tail;
      }
    }
  }
}

TEST(Pack, makes_repetitive_text_small_and_the_same_each_time) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += R"({"snapshot-id":)" + std::to_string(i) + "},";
  auto once = pack(text);
  auto twice = pack(text);
  ASSERT_TRUE(once && twice);
  EXPECT_LT(once->bytes.size(), text.size() / 4);
  EXPECT_EQ(once->bytes, twice->bytes);
}

// What a listener could guess from lengths: whether the document has the tail's words.
TEST(Pack, the_tail_costs_the_same_whatever_stands_before_it) {
  const std::string secret = R"("s3.secret-access-key":"wJalrXUtnFEMI/K7MDENG")";
  for (const std::string& text :
       {std::string(), secret, secret + secret, std::string(50'000, 'a') + secret, noise(5'000)}) {
    auto begun = pack(text);
    ASSERT_TRUE(begun);
    const std::string end = Tail(secret).after(*begun);
    EXPECT_EQ(end.size(), 5 + secret.size() + 8);
    EXPECT_EQ(end.substr(5, secret.size()), secret) << "it stands as it is";
  }
}

TEST(Pack, one_beginning_takes_many_tails) {
  auto begun = pack("the document, ");
  ASSERT_TRUE(begun);
  EXPECT_EQ(gunzip(whole(*begun, "for one"), 100).value(), "the document, for one");
  EXPECT_EQ(gunzip(whole(*begun, "for another"), 100).value(), "the document, for another");
}

TEST(Pack, one_tail_follows_many_beginnings) {
  const Tail tail(", for one");
  for (const std::string& text : {std::string(), std::string("the document"), noise(100'000)}) {
    auto begun = pack(text);
    ASSERT_TRUE(begun);
    EXPECT_EQ(gunzip(begun->bytes + tail.after(*begun), 1 << 20).value(), text + ", for one");
  }
}

}  // namespace
}  // namespace base::gzip

#include "base/crypto/secret_bytes.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace base::crypto {
namespace {

static_assert(!std::is_copy_constructible_v<SecretBytes>);
static_assert(std::is_nothrow_move_constructible_v<SecretBytes>);

TEST(SecretBytesTest, holds_what_it_is_given) {
  EXPECT_TRUE(SecretBytes().empty());
  EXPECT_EQ(SecretBytes().reveal(), "");
  EXPECT_EQ(SecretBytes(3).reveal(), std::string_view("\0\0\0", 3));
  EXPECT_EQ(SecretBytes::copy_of("abc").reveal(), "abc");
  EXPECT_EQ(SecretBytes::concat("ab", "cd").reveal(), "abcd");
  EXPECT_EQ(SecretBytes::copy_of("abcdef").slice(2, 3).reveal(), "cde");
  EXPECT_EQ(SecretBytes::copy_of("abc").slice(3, 0).size(), 0U);
}

TEST(SecretBytesTest, a_move_hands_the_block_over_and_leaves_nothing) {
  SecretBytes first = SecretBytes::copy_of("short");
  const char* block = first.reveal().data();
  SecretBytes second = std::move(first);
  EXPECT_EQ(second.reveal().data(), block);
  EXPECT_TRUE(first.empty());
  SecretBytes third = SecretBytes::copy_of("overwritten");
  third = std::move(second);
  EXPECT_EQ(third.reveal(), "short");
  EXPECT_TRUE(second.empty());
}

TEST(SecretBytesTest, take_wipes_its_source) {
  std::string source = "a secret longer than what fits inside of a string object";
  const char* bytes = source.data();
  std::size_t size = source.size();
  SecretBytes taken = SecretBytes::take(std::move(source));
  EXPECT_EQ(taken.size(), size);
  EXPECT_TRUE(source.empty());
  EXPECT_EQ(std::string_view(bytes + 1, size - 1), std::string(size - 1, '\0'));
}

TEST(SecretBytesDeathTest, a_slice_outside_aborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SecretBytes bytes(4);
  EXPECT_DEATH((void)bytes.slice(5, 0), "");
  EXPECT_DEATH((void)bytes.slice(1, 4), "");
  EXPECT_DEATH((void)bytes.slice(1, static_cast<std::size_t>(-1)), "");
}

}  // namespace
}  // namespace base::crypto

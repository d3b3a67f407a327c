#include "lakeproxy/ducklake/readers/reader_logins.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lake::ducklake {
namespace {

// "010101..." of its number.
class Counting final : public base::Random {
 public:
  void fill(std::span<std::byte> out) override {
    ++drawn_;
    std::ranges::fill(out, std::byte{drawn_});
  }

 private:
  unsigned char drawn_ = 0;
};

TEST(ReaderRoleName, tells_subject_digest_and_chance) {
  Counting random;
  const std::string first = reader_role_name("bob", "", random);
  EXPECT_TRUE(first.starts_with("lakeproxy_p_bob_")) << first;
  EXPECT_TRUE(first.ends_with("_010101010101")) << first;
  EXPECT_EQ(first.size(), std::string("lakeproxy_p_bob__").size() + 8 + 12);
  EXPECT_NE(reader_role_name("bob", "", random), first) << "each vend has its own";
}

TEST(ReaderRoleName, is_safe_and_short_whatever_the_subject_is) {
  Counting random;
  const std::string subjects[] = {
      "",
      "a\"; DROP ROLE lake; --",
      "it's",
      "back\\slash",
      std::string("nul\0nul", 7),
      "\xff\xfe",
      "n\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
      "UPPER",
      "%s%n$1{}",
      std::string(10'000, 'x')};
  for (const std::string& subject : subjects) {
    const std::string name = reader_role_name(subject, "https://id.example", random);
    EXPECT_LE(name.size(), 63U) << name;
    EXPECT_TRUE(name.starts_with("lakeproxy_p_")) << name;
    EXPECT_TRUE(std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    })) << name;
  }
}

TEST(ReaderRoleName, differs_where_the_letters_of_two_subjects_look_alike) {
  auto digest = [](std::string_view subject, std::string_view issuer) {
    Counting random;
    const std::string name = reader_role_name(subject, issuer, random);
    return name.substr(name.size() - 21, 8);
  };
  EXPECT_NE(digest("a-b", ""), digest("a_b", ""));
  EXPECT_NE(digest("Bob", ""), digest("bob", ""));
  EXPECT_NE(digest("bob", "one"), digest("bob", "two"));
  EXPECT_NE(digest("bob", ""), digest("ob", "b"));
  EXPECT_EQ(digest("bob", "one"), digest("bob", "one"));
}

TEST(ReaderGroup, is_another_for_each_schema) {
  EXPECT_EQ(reader_group_of("readers", "public"), "readers");
  EXPECT_EQ(reader_group_of("readers", "acme"), "readers_acme");
  const std::string longest(40, 'g');
  const std::string one = reader_group_of(longest, std::string(62, 's') + "1");
  const std::string two = reader_group_of(longest, std::string(62, 's') + "2");
  EXPECT_NE(one, two);
  EXPECT_LE(one.size(), 63U);
  EXPECT_TRUE(one.starts_with(longest + "_"));
}

}  // namespace
}  // namespace lake::ducklake

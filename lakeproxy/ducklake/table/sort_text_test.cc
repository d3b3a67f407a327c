#include "lakeproxy/ducklake/table/sort_text.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

TEST(SortText, takes_names_out_of_their_quotes) {
  EXPECT_EQ(identifier_in("i"), "i");
  EXPECT_EQ(identifier_in("\"a b\""), "a b");
  EXPECT_EQ(identifier_in("\"we\"\"ird\""), "we\"ird");
  EXPECT_EQ(identifier_in("\"\""), "");
  for (const char* other : {"\"i", "\"a\" + 1", "\"a\".\"b\"", "\"a\"\"b"}) {
    EXPECT_EQ(identifier_in(other), std::nullopt) << other;
  }
}

TEST(SortText, a_name_comes_back_from_its_expression) {
  for (const char* name : {"i", "", "a b", "\"", "we\"\"ird", "\xC3\xBC"}) {
    EXPECT_EQ(identifier_in(identifier_of(name)), name);
  }
}

TEST(SortText, names_are_the_same_in_any_case_of_ascii) {
  EXPECT_TRUE(is_same_name("Ab_1", "aB_1"));
  EXPECT_FALSE(is_same_name("\xC3\x9C", "\xC3\xBC"));
  EXPECT_FALSE(is_same_name("a", "ab"));
}

TEST(SortText, finds_a_name_among_others) {
  for (const char* in : {"(a + B)", "b", "lower(b)", "\"b\"", "s.b", "(absb + b)", "'b'"}) {
    EXPECT_TRUE(may_name(in, "b")) << in;
  }
  for (const char* in : {"abs(a)", "(b1 + ab)", "b_", "üb", ""}) {
    EXPECT_FALSE(may_name(in, "b")) << in;
  }
  EXPECT_TRUE(may_name("(1 + \"we\"\"IRD\")", "we\"ird"));
  EXPECT_TRUE(may_name("(1 + \" x\")", " x"));
}

}  // namespace
}  // namespace lake::ducklake

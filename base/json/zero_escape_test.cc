#include "base/json/zero_escape.h"

#include <gtest/gtest.h>

namespace base::json {
namespace {

TEST(ZeroEscape, is_found_in_keys_and_texts) {
  EXPECT_TRUE(has_zero_escape(R"({"k": "a\u0000b"})"));
  EXPECT_TRUE(has_zero_escape(R"({"\u0000": 1})"));
  EXPECT_TRUE(has_zero_escape(R"(["\\\u0000"])"));
  EXPECT_TRUE(has_zero_escape(R"(["u0000\u0000"])"));
}

TEST(ZeroEscape, is_told_from_what_looks_like_it) {
  for (const char* json :
       {"", "u0000", R"(["u0000"])", R"(["\\u0000"])", R"(["\\\\u0000"])", R"(["\u00001"])"}) {
    EXPECT_EQ(has_zero_escape(json), std::string_view(json).contains("u00001")) << json;
  }
}

}  // namespace
}  // namespace base::json

#include <gtest/gtest.h>

#include <limits>

#include "base/postgres/session.h"

namespace base::pg {
namespace {

TEST(ParamsTest, numbers_and_booleans_have_their_text_form) {
  EXPECT_EQ(param(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(param(std::numeric_limits<std::int64_t>::max()), "9223372036854775807");
  EXPECT_EQ(param(true), "t");
  EXPECT_EQ(param(false), "f");
  EXPECT_EQ(param(std::optional<std::int64_t>()), std::nullopt);
  EXPECT_EQ(param(std::optional<std::int64_t>(5)), "5");
}

TEST(ParamsTest, bytes_are_hexadecimal) {
  EXPECT_EQ(bytes_param(""), "\\x");
  EXPECT_EQ(bytes_param(std::string_view("\0\xff\n", 3)), "\\x00ff0a");
}

TEST(ParamsTest, arrays_quote_every_text) {
  using Texts = std::vector<std::optional<std::string>>;
  EXPECT_EQ(array_param(std::vector<std::int64_t>{}), "{}");
  EXPECT_EQ(array_param(std::vector<std::int64_t>{1, -2}), "{1,-2}");
  EXPECT_EQ(array_param(Texts{}), "{}");
  EXPECT_EQ(array_param(Texts{std::nullopt}), "{NULL}");
  EXPECT_EQ(array_param(Texts{""}), "{\"\"}");
  EXPECT_EQ(array_param(Texts{"NULL", "a,b", "{}", "q\"s\\"}),
            "{\"NULL\",\"a,b\",\"{}\",\"q\\\"s\\\\\"}");
}

}  // namespace
}  // namespace base::pg

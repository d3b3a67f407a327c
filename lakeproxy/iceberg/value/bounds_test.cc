#include "lakeproxy/iceberg/value/bounds.h"

#include <gtest/gtest.h>

#include "base/core/text.h"

namespace lake::materialize {
namespace {

using model::Type;
using model::TypeKind;

struct Bound {
  std::string name;
  TypeKind kind;
  std::string bound;
  std::size_t width;
  std::string lower;
  std::optional<std::string> upper;
};

class BoundsTest : public ::testing::TestWithParam<Bound> {};

TEST_P(BoundsTest, keeps_every_value_inside) {
  const Bound& test = GetParam();
  const std::string lower = shorten_lower_bound(test.bound, Type(test.kind), test.width);
  const auto upper = shorten_upper_bound(test.bound, Type(test.kind), test.width);
  EXPECT_EQ(lower, test.lower);
  EXPECT_EQ(upper, test.upper);
  EXPECT_LE(lower, test.bound);
  if (upper) {
    EXPECT_GE(*upper, test.bound);
    if (test.kind == TypeKind::kString) EXPECT_TRUE(base::is_utf8(*upper));
  }
}

constexpr auto kText = TypeKind::kString;
constexpr auto kBytes = TypeKind::kBinary;

INSTANTIATE_TEST_SUITE_P(
    Cases, BoundsTest,
    ::testing::Values(
        Bound{"empty", kText, "", 2, "", ""}, Bound{"shorter", kText, "a", 2, "a", "a"},
        Bound{"as_long", kText, "ab", 2, "ab", "ab"}, Bound{"longer", kText, "abc", 2, "ab", "ac"},
        Bound{"code_points_are_counted", kText, "\xC3\xA9\xC3\xA9", 2, "\xC3\xA9\xC3\xA9",
              "\xC3\xA9\xC3\xA9"},
        Bound{"one_byte_becomes_two", kText,
              "a\x7F"
              "b",
              2, "a\x7F", "a\xC2\x80"},
        Bound{"two_bytes_become_three", kText,
              "\xDF\xBF"
              "b",
              1, "\xDF\xBF", "\xE0\xA0\x80"},
        Bound{"surrogates_are_stepped_over", kText,
              "\xED\x9F\xBF"
              "b",
              1, "\xED\x9F\xBF", "\xEE\x80\x80"},
        Bound{"three_bytes_become_four", kText,
              "\xEF\xBF\xBF"
              "b",
              1, "\xEF\xBF\xBF", "\xF0\x90\x80\x80"},
        Bound{"the_last_code_point_is_dropped", kText,
              "a\xF4\x8F\xBF\xBF"
              "b",
              2, "a\xF4\x8F\xBF\xBF", "b"},
        Bound{"only_last_code_points", kText, "\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF", 1,
              "\xF4\x8F\xBF\xBF", std::nullopt},
        Bound{"bytes", kBytes, "abc", 2, "ab", "ac"},
        Bound{"shorter_bytes", kBytes, "\xFF", 2, "\xFF", "\xFF"},
        Bound{"full_bytes_are_dropped", kBytes,
              "a\xFF"
              "c",
              2, "a\xFF", "b"},
        Bound{"only_full_bytes", kBytes, "\xFF\xFF\xFF", 2, "\xFF\xFF", std::nullopt}),
    [](const auto& test) { return test.param.name; });

TEST(ShortenBoundTest, other_types_stay_as_they_are) {
  EXPECT_EQ(shorten_lower_bound("12345678", Type(TypeKind::kLong), 2), "12345678");
  EXPECT_EQ(shorten_upper_bound("12345678", Type::fixed(8), 2), "12345678");
}

TEST(ShortenBoundTest, text_that_is_not_utf8_has_no_upper_bound) {
  EXPECT_EQ(shorten_upper_bound("\xFF\xFF", Type(TypeKind::kString), 1), std::nullopt);
}

}  // namespace
}  // namespace lake::materialize

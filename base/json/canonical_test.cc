#include "base/json/canonical.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace base::json {
namespace {

std::string of(std::string_view text) {
  auto value = parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  auto result = canonical(*value);
  EXPECT_TRUE(result.has_value()) << text;
  return result ? *result : "";
}

// Source: RFC 8785, sections 3.2.2 to 3.2.4.
TEST(CanonicalTest, makes_the_texts_of_the_rfc) {
  EXPECT_EQ(of(R"({
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  })"),
            "{\"literals\":[null,true,false],"
            "\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
            "\"string\":\"\xE2\x82\xAC$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
  EXPECT_EQ(of(R"({
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis"
  })"),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xC2\x80\":\"Control\","
            "\"\xC3\xB6\":\"Latin Small Letter O With Diaeresis\",\"\xE2\x82\xAC\":\"Euro Sign\","
            "\"\xF0\x9F\x98\x80\":\"Emoji: Grinning Face\","
            "\"\xEF\xAC\xB3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

// Source: RFC 8785, appendix B.
TEST(CanonicalTest, prints_the_numbers_of_the_rfc) {
  struct Case {
    std::uint64_t bits;
    const char* text;
  };
  for (const Case& c : std::initializer_list<Case>{
           {0x0000000000000000, "0"},
           {0x8000000000000000, "0"},
           {0x0000000000000001, "5e-324"},
           {0x8000000000000001, "-5e-324"},
           {0x7fefffffffffffff, "1.7976931348623157e+308"},
           {0xffefffffffffffff, "-1.7976931348623157e+308"},
           {0x4340000000000000, "9007199254740992"},
           {0xc340000000000000, "-9007199254740992"},
           {0x4430000000000000, "295147905179352830000"},
           {0x44b52d02c7e14af5, "9.999999999999997e+22"},
           {0x44b52d02c7e14af6, "1e+23"},
           {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
           {0x444b1ae4d6e2ef4e, "999999999999999700000"},
           {0x444b1ae4d6e2ef4f, "999999999999999900000"},
           {0x444b1ae4d6e2ef50, "1e+21"},
           {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
           {0x3eb0c6f7a0b5ed8d, "0.000001"},
           {0x41b3de4355555553, "333333333.3333332"},
           {0x41b3de4355555554, "333333333.33333325"},
           {0x41b3de4355555555, "333333333.3333333"},
           {0x41b3de4355555556, "333333333.3333334"},
           {0x41b3de4355555557, "333333333.33333343"},
           {0xbecbf647612f3696, "-0.0000033333333333333333"},
           {0x43143ff3c1cb0959, "1424953923781206.2"},
       }) {
    auto text = canonical(Value(std::bit_cast<double>(c.bits)));
    ASSERT_TRUE(text.has_value()) << c.text;
    EXPECT_EQ(*text, c.text);
  }
}

TEST(CanonicalTest, refuses_what_other_readers_would_change) {
  struct Case {
    const char* name;
    Value value;
  };
  constexpr std::int64_t kSafe = 9'007'199'254'740'991;
  for (const Case& c : std::initializer_list<Case>{
           {"2^53", Value(kSafe + 1)},
           {"-2^53", Value(-kSafe - 1)},
           {"above int64", Value(std::numeric_limits<std::uint64_t>::max())},
           {"not a number", Value(std::numeric_limits<double>::quiet_NaN())},
           {"infinity", Value(std::numeric_limits<double>::infinity())},
           {"lone surrogate", Value("\xED\xA0\x80")},
           {"Latin-1", Value("\xE9")},
           {"bad name", Value({{"\xFF", 1}})},
           {"deep inside", Value({{"a", Array{Value{{"b", kSafe + 1}}}}})},
       }) {
    auto text = canonical(c.value);
    ASSERT_FALSE(text.has_value()) << c.name;
    EXPECT_EQ(text.error().kind(), ErrorKind::kInvalid) << c.name;
  }
  EXPECT_EQ(*canonical(Value(kSafe)), "9007199254740991");
  EXPECT_EQ(*canonical(Value(-kSafe)), "-9007199254740991");
}

TEST(CanonicalTest, an_integer_and_its_double_are_one_text) {
  EXPECT_EQ(of("[1,1.0,10e-1,-0,-0.0]"), "[1,1,1,0,0]");
}

TEST(CanonicalTest, sorts_names_at_every_depth_and_keeps_arrays) {
  EXPECT_EQ(of(R"({"b":[{"d":1,"c":2},3],"aa":1,"a":{},"":0})"),
            R"({"":0,"a":{},"aa":1,"b":[{"c":2,"d":1},3]})");
}

TEST(CanonicalTest, escapes_only_what_must_be) {
  EXPECT_EQ(of(R"("\u0000\b\t\n\f\r\u001f\"\\/\u007f\u2028")"),
            "\"\\u0000\\b\\t\\n\\f\\r\\u001f\\\"\\\\/\x7F\xE2\x80\xA8\"");
}

TEST(CanonicalTest, is_the_same_when_read_and_written_again) {
  std::string once = of(R"({"z":[1e21,1e-7,0.1,123456789012],"y":"\u00e9\ud83d\ude00"})");
  EXPECT_EQ(of(once), once);
}

}  // namespace
}  // namespace base::json

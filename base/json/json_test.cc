#include "base/json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace base::json {
namespace {

struct TextCase {
  const char* name;
  std::string_view text;
};

using namespace std::string_view_literals;

ErrorKind kind_of(std::string_view text, Limits limits = {}) {
  auto result = parse(text, limits);
  EXPECT_FALSE(result.has_value()) << text;
  return result ? ErrorKind::kInternal : result.error().kind();
}

Value value_of(std::string_view text, Limits limits = {}) {
  auto result = parse(text, limits);
  EXPECT_TRUE(result.has_value()) << text << ": " << (result ? "" : result.error().message());
  return result ? *result : Value();
}

TEST(ParseTest, accepts_every_form_of_the_grammar) {
  for (const auto& c : std::initializer_list<TextCase>{
           {"null", "null"},
           {"lonely string", R"("a")"},
           {"lonely number", "42"},
           {"whitespace around", " \t\r\n[ ]\n"},
           {"whitespace between", "[ 1 , 2 ]"},
           {"empty object", "{}"},
           {"empty key", R"({"":0})"},
           {"nested", R"({"a":[{"b":[]}]})"},
           {"all escapes", R"(["\"\\\/\b\f\n\r\t\u0041"])"},
           {"escaped NUL", R"(["\u0000"])"},
           {"surrogate pair", R"(["\uD834\uDD1E"])"},
           {"upper and lower hex", R"(["\uAbCd"])"},
           {"raw two to four byte UTF-8", "[\"\xC3\xA9\xE2\x82\xAC\xF0\x9D\x84\x9E\"]"},
           {"raw DEL", "[\"\x7f\"]"},
           {"noncharacter", "[\"\xEF\xBF\xBF\"]"},
           {"number forms", "[0,-0,1,-1,0.5,1e5,1E+5,1e-5,1.5e05]"},
       }) {
    EXPECT_TRUE(parse(c.text).has_value()) << c.name;
  }
}

TEST(ParseTest, refuses_what_is_not_json) {
  for (const auto& c : std::initializer_list<TextCase>{
           {"nothing", ""},
           {"only whitespace", " "},
           {"byte order mark", "\xEF\xBB\xBF{}"},
           {"trailing comma in array", "[1,]"},
           {"trailing comma in object", R"({"a":1,})"},
           {"leading comma", "[,1]"},
           {"missing comma", "[1 2]"},
           {"missing colon", R"({"a" 1})"},
           {"two colons", R"({"a"::1})"},
           {"unclosed array", "[1"},
           {"unclosed object", R"({"a":1)"},
           {"unclosed string", R"(["a)"},
           {"closed twice", "[1]]"},
           {"crossed brackets", "[1}"},
           {"trailing data", "{} {}"},
           {"trailing letter", "1x"},
           {"trailing NUL", "1\0"sv},
           {"comment", "[1/*x*/]"},
           {"line comment", "[1]//x"},
           {"single quotes", "['a']"},
           {"unquoted key", "{a:1}"},
           {"number key", "{1:1}"},
           {"capital True", "[True]"},
           {"half a literal", "[nul]"},
           {"NaN", "[NaN]"},
           {"Infinity", "[Infinity]"},
           {"minus Infinity", "[-Infinity]"},
           {"leading zero", "[01]"},
           {"leading minus zero", "[-01]"},
           {"leading plus", "[+1]"},
           {"leading dot", "[.5]"},
           {"trailing dot", "[1.]"},
           {"dot then exponent", "[1.e5]"},
           {"empty exponent", "[1e]"},
           {"signed empty exponent", "[1e+]"},
           {"lonely minus", "[-]"},
           {"hexadecimal", "[0x10]"},
           {"raw newline in string", "[\"a\nb\"]"},
           {"raw NUL in string", "[\"a\0b\"]"sv},
           {"raw 0x1f in string", "[\"\x1f\"]"},
           {"unknown escape", R"(["\x41"])"},
           {"escaped quote mark only", R"(["\'"])"},
           {"short hex escape", R"(["\u12"])"},
           {"bad hex digit", R"(["\u00G0"])"},
           {"lonely high surrogate", R"(["\uD834"])"},
           {"lonely low surrogate", R"(["\uDD1E"])"},
           {"swapped surrogates", R"(["\uDD1E\uD834"])"},
           {"high surrogate twice", R"(["\uD834\uD834"])"},
           {"high surrogate then letter", R"(["\uD834a"])"},
           {"lonely surrogate in a key", R"({"\uD834":1})"},
           {"form feed as whitespace", "[\f1]"},
           {"no-break space as whitespace", "[\xC2\xA0]"},
       }) {
    EXPECT_EQ(kind_of(c.text), ErrorKind::kInvalid) << c.name;
  }
}

TEST(ParseTest, refuses_bad_utf8) {
  for (const auto& c : std::initializer_list<TextCase>{
           {"lonely continuation", "[\"\x80\"]"},
           {"truncated", "[\"\xE2\x82\"]"},
           {"overlong slash", "[\"\xC0\xAF\"]"},
           {"overlong three bytes", "[\"\xE0\x80\xAF\"]"},
           {"surrogate", "[\"\xED\xA0\x80\"]"},
           {"above U+10FFFF", "[\"\xF4\x90\x80\x80\"]"},
           {"0xFF", "[\"\xFF\"]"},
           {"in a key", "{\"\xFF\":1}"},
           {"UTF-16", "[\0\"\0"sv},
       }) {
    EXPECT_EQ(kind_of(c.text), ErrorKind::kInvalid) << c.name;
  }
}

TEST(ParseTest, refuses_duplicate_keys) {
  EXPECT_EQ(kind_of(R"({"a":1,"a":1})"), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(R"({"a":1,"\u0061":2})"), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(R"({"":1,"":2})"), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(R"([{"x":{"b":1,"c":2,"b":3}}])"), ErrorKind::kInvalid);
  EXPECT_EQ(write(value_of(R"({"a":{"a":{"a":1}},"A":2})")), R"({"a":{"a":{"a":1}},"A":2})");
}

TEST(ParseTest, finds_a_duplicate_among_many_keys) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"key" + std::to_string(i) + "\":1,";
  std::string last = text;
  text += "\"other\":1}";
  last += "\"key777\":1}";
  EXPECT_EQ(value_of(text).as_object().size(), 200'001U);
  EXPECT_EQ(kind_of(last), ErrorKind::kInvalid);
}

TEST(ParseTest, keeps_keys_with_escapes_apart) {
  auto value = value_of(R"({"\n":1,"\n\n":2,"a\tb":3,"":4})");
  EXPECT_EQ(value.at("\n").as_int64(), 1);
  EXPECT_EQ(value.at("\n\n").as_int64(), 2);
  EXPECT_EQ(value.at("a\tb").as_int64(), 3);
  EXPECT_EQ(value.at("").as_int64(), 4);
}

TEST(ParseTest, keeps_long_strings_with_escapes_whole) {
  std::string plain(10'000, 'x');
  auto value =
      value_of("{\"" + plain + "\\n" + plain + "\":\"" + plain + "\\u00e9" + plain + "\"}");
  EXPECT_EQ(value.at(plain + "\n" + plain).as_string(), plain + "\xC3\xA9" + plain);
}

TEST(ParseTest, bounds_bytes) {
  Limits limits{.bytes = 5};
  EXPECT_EQ(value_of("[1,2]", limits).as_array().size(), 2U);
  EXPECT_EQ(kind_of("[1,2] ", limits), ErrorKind::kTooLarge);
}

TEST(ParseTest, bounds_depth) {
  Limits limits{.depth = 3};
  EXPECT_TRUE(parse(R"([[[1]]])", limits).has_value());
  EXPECT_TRUE(parse(R"([{"a":[1]},[[]]])", limits).has_value());
  EXPECT_EQ(kind_of("[[[[]]]]", limits), ErrorKind::kTooLarge);
  EXPECT_EQ(kind_of(R"([[[{}]]])", limits), ErrorKind::kTooLarge);
  EXPECT_TRUE(parse("1", Limits{.depth = 0}).has_value());
  EXPECT_EQ(kind_of("[]", Limits{.depth = 0}), ErrorKind::kTooLarge);
}

TEST(ParseTest, bounds_depth_by_default) {
  EXPECT_TRUE(parse(std::string(64, '[') + std::string(64, ']')).has_value());
  EXPECT_EQ(kind_of(std::string(65, '[') + std::string(65, ']')), ErrorKind::kTooLarge);
  EXPECT_EQ(kind_of(std::string(1'000'000, '[')), ErrorKind::kTooLarge);
}

TEST(ParseTest, bounds_values) {
  Limits limits{.values = 4};
  EXPECT_TRUE(parse(R"([1,"a",{}])", limits).has_value());
  EXPECT_EQ(kind_of(R"([1,"a",{},null])", limits), ErrorKind::kTooLarge);
  EXPECT_EQ(kind_of(R"([[],[],[],[]])", limits), ErrorKind::kTooLarge);
  EXPECT_EQ(kind_of(R"({"a":1,"b":2,"c":3,"d":4})", limits), ErrorKind::kTooLarge);
}

TEST(ParseTest, names_the_byte_of_an_error) {
  EXPECT_NE(parse("[1,x]").error().message().find("byte 3"), std::string::npos);
  EXPECT_NE(parse("[1] ]").error().message().find("byte 4"), std::string::npos);
}

TEST(NumberTest, integers_are_exact_over_their_whole_range) {
  EXPECT_EQ(value_of("0").as_int64(), 0);
  EXPECT_EQ(value_of("-0").as_int64(), 0);
  EXPECT_EQ(value_of("9223372036854775807").as_int64(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(value_of("-9223372036854775808").as_int64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(value_of("9223372036854775808").as_uint64(), 9223372036854775808U);
  EXPECT_EQ(value_of("18446744073709551615").as_uint64(), 18446744073709551615U);
  EXPECT_EQ(value_of("9007199254740993").as_int64(), 9007199254740993);
}

TEST(NumberTest, integers_beyond_64_bits_become_the_nearest_double) {
  EXPECT_EQ(value_of("18446744073709551616").as_double(), 18446744073709551616.0);
  EXPECT_EQ(value_of("-9223372036854775809").as_double(), -9223372036854775808.0);
  EXPECT_EQ(value_of("1" + std::string(300, '0')).as_double(), 1e300);
}

TEST(NumberTest, doubles_are_the_nearest_ones) {
  struct Case {
    const char* text;
    double value;
  };
  for (const auto& c : std::initializer_list<Case>{
           {"1.1", 1.1},
           {"0.1", 0.1},
           {"-1.5e3", -1500.0},
           {"1E2", 100.0},
           {"5e-324", std::numeric_limits<double>::denorm_min()},
           {"2.2250738585072014e-308", std::numeric_limits<double>::min()},
           {"2.2250738585072011e-308", 2.2250738585072011e-308},
           {"1.7976931348623157e308", std::numeric_limits<double>::max()},
           {"-1.7976931348623157e308", std::numeric_limits<double>::lowest()},
           {"9007199254740993.0", 9007199254740992.0},
           {"0.30000000000000004", 0.30000000000000004},
           {"1e-400", 0.0},
           {"0.0", 0.0},
           {"0e400", 0.0},
       }) {
    EXPECT_EQ(value_of(c.text).as_double(), c.value) << c.text;
  }
  EXPECT_TRUE(std::signbit(value_of("-0.0").as_double()));
  EXPECT_TRUE(std::signbit(value_of("-1e-400").as_double()));
}

TEST(NumberTest, refuses_numbers_above_the_largest_double) {
  for (const char* text :
       {"1e400", "-1e400", "1.7976931348623159e308", "1e309", "[1e99999999999]"}) {
    EXPECT_EQ(kind_of(text), ErrorKind::kInvalid) << text;
  }
  EXPECT_EQ(kind_of("1" + std::string(400, '0')), ErrorKind::kInvalid);
}

TEST(WriteTest, doubles_are_short_and_stay_doubles) {
  struct Case {
    double value;
    const char* text;
  };
  for (const auto& c : std::initializer_list<Case>{
           {1.1, "1.1"},
           {1.0, "1.0"},
           {-0.0, "-0.0"},
           {0.1 + 0.2, "0.30000000000000004"},
           {1e22, "1e+22"},
           {5e-324, "5e-324"},
           {1.7976931348623157e308, "1.7976931348623157e+308"},
       }) {
    std::string text = write(Value(c.value));
    EXPECT_EQ(text, c.text);
    Value back = value_of(text);
    ASSERT_TRUE(back.is_double()) << text;
    EXPECT_EQ(back.get_double(), c.value);
  }
}

TEST(WriteTest, escapes_what_must_be_and_no_more) {
  std::string text("\"\\/\b\f\n\r\t\0\x1f\x7f\xC3\xA9", 13);
  EXPECT_EQ(write(Value(text)), "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\xC3\xA9\"");
  EXPECT_EQ(value_of(write(Value(text))).as_string(), text);
}

// Texts are looked at eight bytes at a time: no place in them may hide a byte.
TEST(WriteTest, escapes_a_byte_wherever_it_stands) {
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
    for (std::size_t at = 0; at < 17; ++at) {
      std::string text(17, 'a');
      text[at] = static_cast<char>(byte);
      std::string out;
      append_quoted(out, text);
      EXPECT_EQ(out == '"' + text + '"', is_plain) << byte << " at " << at;
      if (byte >= 0x80) text.replace(at, 1, "\xEF\xBF\xBD");
      EXPECT_EQ(value_of(out).as_string(), text) << byte << " at " << at;
    }
  }
}

TEST(WriteTest, replaces_bytes_that_are_not_utf8) {
  std::string out;
  append_quoted(out, "a\xFF\xE2\x82z\xC3\xA9");
  EXPECT_EQ(out, "\"a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\xC3\xA9\"");
}

TEST(WriteTest, returns_the_text_it_was_parsed_from) {
  for (std::string_view text :
       {R"({"b":1,"a":[true,false,null,-5,18446744073709551615,2.5],"c":{"":"x"}})", "[]", "{}",
        "\"\"", "[[],{},\"\xF0\x9D\x84\x9E\"]"}) {
    EXPECT_EQ(write(value_of(text)), text);
  }
}

TEST(WriteTest, appends_to_what_is_there) {
  std::string out = "x=";
  append(out, Value(1));
  EXPECT_EQ(out, "x=1");
}

TEST(WriteDeathTest, aborts_on_a_number_json_has_no_form_for) {
  EXPECT_DEATH(static_cast<void>(write(Value(std::numeric_limits<double>::quiet_NaN()))), "");
  EXPECT_DEATH(static_cast<void>(write(Value(std::numeric_limits<double>::infinity()))), "");
}

}  // namespace
}  // namespace base::json

#include "base/config/setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base::config {
namespace {

using namespace std::string_view_literals;

Result<SettingValue> read(SettingType type, std::string_view text) {
  return parse_setting(Setting{"X", std::move(type), "", "S", "Help."}, text);
}

struct Case {
  const char* name;
  SettingType type;
  std::string_view text;
};

std::string_view not_empty(std::string_view text) {
  return text.empty() ? "must not be empty" : std::string_view();
}

std::string_view no_digit(std::string_view text) {
  return text.contains('1') ? "must have no 1" : std::string_view();
}

TEST(SettingTest, reads_each_type) {
  using std::chrono::microseconds;
  EXPECT_EQ(std::get<std::string>(*read(TextType{}, "a b")), "a b");
  EXPECT_EQ(std::get<std::string>(*read(TextType{}, "")), "");
  EXPECT_EQ(std::get<std::string>(*read(TextType{.rule = not_empty}, "x")), "x");
  EXPECT_EQ(std::get<std::int64_t>(*read(IntegerType{1, 9}, "1")), 1);
  EXPECT_EQ(std::get<std::int64_t>(*read(IntegerType{1, 9}, "9")), 9);
  EXPECT_EQ(std::get<std::int64_t>(*read(IntegerType{-3, 9}, "-3")), -3);
  EXPECT_EQ(std::get<microseconds>(*read(DurationType{}, "10.0")), microseconds(10'000'000));
  EXPECT_EQ(std::get<microseconds>(*read(DurationType{}, "0.0000015")), microseconds(2));
  EXPECT_EQ(std::get<microseconds>(*read(DurationType{}, "0")), microseconds(0));
  EXPECT_EQ(std::get<std::string>(*read(ChoiceType{{"json", "text"}}, "JSON")), "json");
  EXPECT_EQ(std::get<Secret>(*read(SecretType{}, "pw")).reveal(), "pw");
}

TEST(SettingTest, reads_each_word_of_a_flag) {
  for (const char* yes : {"1", "true", "yes", "on", "True", "YES", "oN"}) {
    EXPECT_TRUE(std::get<bool>(*read(FlagType{}, yes))) << yes;
  }
  for (const char* no : {"0", "false", "no", "off", "False", "NO"}) {
    EXPECT_FALSE(std::get<bool>(*read(FlagType{}, no))) << no;
  }
}

TEST(SettingTest, reads_bytes_with_decimal_and_binary_units) {
  struct BytesCase {
    const char* text;
    std::uint64_t count;
  };
  for (const auto& c : std::initializer_list<BytesCase>{{"0", 0},
                                                        {"1024", 1024},
                                                        {"5B", 5},
                                                        {"2kb", 2000},
                                                        {"256MB", 256'000'000},
                                                        {"16MiB", 16U << 20},
                                                        {"1GiB", 1U << 30},
                                                        {"3TB", 3'000'000'000'000}}) {
    EXPECT_EQ(std::get<Bytes>(*read(BytesType{}, c.text)).count, c.count) << c.text;
  }
}

TEST(SettingTest, keeps_urls_without_the_last_slash) {
  for (const auto& [text, kept] : std::initializer_list<std::pair<std::string_view, const char*>>{
           {"http://127.0.0.1:9000", "http://127.0.0.1:9000"},
           {"https://lake.example/", "https://lake.example"},
           {"https://lake.example:443/catalog/", "https://lake.example:443/catalog"},
           {"http://[::1]:8181", "http://[::1]:8181"},
           {"http://[::1]", "http://[::1]"},
           {"", ""}}) {
    auto value = read(UrlType{}, text);
    ASSERT_TRUE(value.has_value()) << text;
    EXPECT_EQ(std::get<std::string>(*value), kept);
  }
}

TEST(SettingTest, reads_lists) {
  using testing::ElementsAre;
  auto list = [](std::string_view text) {
    return std::get<std::vector<std::string>>(*read(ListType{.max_items = 3}, text));
  };
  EXPECT_THAT(list(""), ElementsAre());
  EXPECT_THAT(list("  "), ElementsAre());
  EXPECT_THAT(list("a"), ElementsAre("a"));
  EXPECT_THAT(list(" a b ,c,d"), ElementsAre("a b", "c", "d"));
}

TEST(SettingTest, reads_urls_of_the_schemes_it_names) {
  UrlType ws{{"ws", "wss"}};
  EXPECT_EQ(std::get<std::string>(*read(ws, "wss://h:1/p/")), "wss://h:1/p");
  EXPECT_EQ(std::get<std::string>(*read(ws, "ws://[::1]:80")), "ws://[::1]:80");
  for (const char* text : {"http://h", "wsss://h", "ws:/h", "wss//h", "ws://u@h", "WS://h"}) {
    auto value = read(ws, text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().message(), "must be a ws or wss URL without user, query or fragment");
  }
}

TEST(SettingTest, an_empty_url_needs_an_empty_default) {
  Setting setting{"X", UrlType{}, "http://localhost", "S", "Help."};
  EXPECT_FALSE(parse_setting(setting, "").has_value());
}

TEST(SettingTest, refuses_what_breaks_a_rule) {
  for (const auto& c : std::initializer_list<Case>{
           {"newline in text", TextType{}, "a\nb"},
           {"NUL in text", TextType{}, "a\0"sv},
           {"bad UTF-8", TextType{}, "\xFF"},
           {"own rule", TextType{.rule = not_empty}, ""},
           {"too long", TextType{.max_bytes = 2}, "abc"},
           {"newline in secret", SecretType{}, "a\nb"},
           {"secret's own rule", SecretType{.rule = not_empty}, ""},
           {"below the range", IntegerType{1, 9}, "0"},
           {"above the range", IntegerType{1, 9}, "10"},
           {"no integer", IntegerType{}, "ten"},
           {"empty integer", IntegerType{}, ""},
           {"integer with blank", IntegerType{}, "1 "},
           {"integer with plus", IntegerType{}, "+1"},
           {"integer beyond 64 bits", IntegerType{}, "9223372036854775808"},
           {"flag in words", FlagType{}, "maybe"},
           {"empty flag", FlagType{}, ""},
           {"flag 2", FlagType{}, "2"},
           {"negative duration", DurationType{}, "-1"},
           {"long duration", DurationType{.max = std::chrono::seconds(5)}, "5.1"},
           {"duration with unit", DurationType{}, "5s"},
           {"not a number", DurationType{}, "nan"},
           {"endless", DurationType{}, "inf"},
           {"unknown unit", BytesType{}, "5XB"},
           {"negative bytes", BytesType{}, "-5"},
           {"unit alone", BytesType{}, "MB"},
           {"blank before the unit", BytesType{}, "5 MB"},
           {"overflow by unit", BytesType{}, "18446744073709551615KB"},
           {"few bytes", BytesType{.min = 10}, "9"},
           {"many bytes", BytesType{.max = 10}, "11"},
           {"no choice", ChoiceType{{"json", "text"}}, "xml"},
           {"empty choice", ChoiceType{{"json", "text"}}, ""},
           {"other scheme", UrlType{}, "ftp://host"},
           {"no scheme", UrlType{}, "host:80"},
           {"no host", UrlType{}, "http://"},
           {"no host before the port", UrlType{}, "http://:80"},
           {"user and password", UrlType{}, "http://u:p@host"},
           {"query", UrlType{}, "http://host/?a=1"},
           {"fragment", UrlType{}, "http://host/#a"},
           {"port 0", UrlType{}, "http://host:0"},
           {"port 65536", UrlType{}, "http://host:65536"},
           {"blank in host", UrlType{}, "http://ho st"},
           {"header injection", UrlType{}, "http://host/\r\nX: y"},
           {"open bracket", UrlType{}, "http://[::1"},
           {"empty item", ListType{}, "a,,b"},
           {"empty item at the end", ListType{}, "a,"},
           {"empty items alone", ListType{}, ","},
           {"item twice", ListType{}, "a, a"},
           {"too many items", ListType{.max_items = 2}, "a,b,c"},
           {"item's own rule", ListType{.rule = no_digit}, "a,1"},
           {"newline in an item", ListType{}, "a\nb,c"},
       }) {
    auto value = read(c.type, c.text);
    ASSERT_FALSE(value.has_value()) << c.name;
    EXPECT_EQ(value.error().kind(), ErrorKind::kInvalid) << c.name;
  }
}

TEST(SettingTest, describes_what_it_takes) {
  EXPECT_EQ(describe_type(IntegerType{1, 65535}), "integer, 1 to 65535");
  EXPECT_EQ(describe_type(ChoiceType{{"json", "text"}}), "json or text");
  EXPECT_EQ(describe_type(DurationType{.min = std::chrono::milliseconds(500),
                                       .max = std::chrono::seconds(60)}),
            "seconds, 0.5 to 60");
  EXPECT_EQ(describe_type(BytesType{.min = 1024, .max = 256'000'000}),
            "bytes (such as 256MB or 16MiB), 1KiB to 256MB");
}

}  // namespace
}  // namespace base::config

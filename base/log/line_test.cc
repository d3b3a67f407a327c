#include "base/log/line.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/json/json.h"

namespace base::log {
namespace {

static_assert(!std::is_constructible_v<Field, Key, Secret>);
static_assert(!std::is_constructible_v<Field, Key, const Secret&>);
static_assert(!std::is_convertible_v<std::string, Key>);
static_assert(!std::is_convertible_v<std::string_view, Key>);

const WallTime kTime{std::chrono::microseconds(1'795'258'800'000'042)};

std::string line(Format format, std::string_view message, Fields fields,
                 std::string_view request_id = "") {
  return format_line(format, {kTime, Level::kInfo, message, request_id, fields});
}

TEST(JsonLineTest, holds_every_part_in_order) {
  EXPECT_EQ(line(Format::kJson, "commit",
                 {{"table", "a.b"},
                  {"ms", 3.2},
                  {"n", 7},
                  {"big", 18446744073709551615U},
                  {"ok", true},
                  {"name", std::string("x")}},
                 "00000000000000ff"),
            "{\"ts\":\"2026-11-21T11:00:00.000042Z\",\"level\":\"info\",\"msg\":\"commit\","
            "\"request_id\":\"00000000000000ff\",\"table\":\"a.b\",\"ms\":3.2,\"n\":7,"
            "\"big\":18446744073709551615,\"ok\":true,\"name\":\"x\"}\n");
}

TEST(JsonLineTest, has_no_request_id_outside_of_requests) {
  EXPECT_EQ(line(Format::kJson, "start", {}),
            "{\"ts\":\"2026-11-21T11:00:00.000042Z\",\"level\":\"info\",\"msg\":\"start\"}\n");
}

TEST(TextLineTest, holds_every_part_in_order) {
  EXPECT_EQ(line(Format::kText, "commit done", {{"table", "a b"}, {"n", -1}}, "ff"),
            "2026-11-21T11:00:00.000042Z info    commit done request_id=\"ff\" table=\"a b\" "
            "n=-1\n");
}

TEST(LineTest, times_before_the_epoch_are_right_too) {
  std::string text = format_line(
      Format::kText, {WallTime(std::chrono::microseconds(-1)), Level::kError, "x", "", {}});
  EXPECT_EQ(text, "1969-12-31T23:59:59.999999Z error   x\n");
}

TEST(LineTest, no_text_ends_a_line_or_moves_a_terminal) {
  struct Case {
    const char* name;
    std::string_view text;
  };
  for (const auto& c : std::initializer_list<Case>{
           {"newline", "a\n{\"level\":\"error\"}"},
           {"carriage return", "a\rb"},
           {"quote", "a\",\"level\":\"error"},
           {"escape sequence", "\x1b[2J"},
           {"delete", "\x7f"},
           {"C1 sequence",
            "\xC2\x9B"
            "2J"},
           {"broken UTF-8", "\xC2"},
           {"NUL", {"\0", 1}},
       }) {
    for (Format format : {Format::kJson, Format::kText}) {
      std::string out = line(format, c.text, {{"value", c.text}}, c.text);
      EXPECT_EQ(out.find_first_of(std::string_view("\n\r\x1b\x7f\0", 5)), out.size() - 1) << c.name;
      EXPECT_EQ(out.find("\xC2\x9B"), std::string::npos) << c.name;
    }
    auto parsed = json::parse(line(Format::kJson, c.text, {{"value", c.text}}, c.text));
    ASSERT_TRUE(parsed.has_value()) << c.name;
    EXPECT_EQ(parsed->as_object().size(), 5U) << c.name;
  }
}

TEST(LineTest, keeps_text_that_does_no_harm) {
  std::string out = line(Format::kJson, "x", {{"value", "caf\xC3\xA9 \xC2\xA0 \xE2\x82\xAC"}});
  EXPECT_NE(out.find("caf\xC3\xA9 \xC2\xA0 \xE2\x82\xAC"), std::string::npos);
}

TEST(LineTest, cuts_long_texts) {
  std::string longest(kMaxText, 'x');
  auto value = [&](const std::string& text) {
    auto parsed = json::parse(line(Format::kJson, "m", {{"value", text}}));
    return parsed->at("value").as_string().size();
  };
  EXPECT_EQ(value(longest), kMaxText);
  EXPECT_EQ(value(longest + "y"), kMaxText);
}

TEST(LineTest, numbers_without_a_json_form_become_text) {
  std::string out = line(Format::kJson, "m",
                         {{"a", std::numeric_limits<double>::quiet_NaN()},
                          {"b", -std::numeric_limits<double>::infinity()}});
  EXPECT_TRUE(json::parse(out).has_value()) << out;
  EXPECT_NE(out.find("\"b\":\"-inf\""), std::string::npos);
}

}  // namespace
}  // namespace base::log

#include "base/core/text.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(TextTest, a_terminal_is_told_text_and_nothing_else) {
  struct Case {
    const char* name;
    std::string_view text;
    std::string_view shown;
  };
  for (const auto& c : std::initializer_list<Case>{
           {"plain", "Grüße, 世界 🙂\tand\nmore", "Grüße, 世界 🙂\tand\nmore"},
           {"colour", "a\x1b[31mred", "a\\x1b[31mred"},
           {"title of the window", "\x1b]0;x\x07", "\\x1b]0;x\\x07"},
           {"carriage return over the line", "ok\rE_AUTH", "ok\\x0dE_AUTH"},
           {"backspace and delete", "a\b\x7f", "a\\x08\\x7f"},
           {"C1 control sequence introducer",
            "\xc2\x9b"
            "31m",
            "\\x9b31m"},
           {"right-to-left override",
            "a\xe2\x80\xae"
            "txt.exe",
            "a\\u202etxt.exe"},
           {"isolate", "\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"},
           {"line separator", "\xe2\x80\xa8", "\\u2028"},
           {"not UTF-8", "\xff\xc3", "\\xff\\xc3"},
           {"a lone byte of the middle", "\x9b", "\\x9b"},
           {"zero", std::string_view("\0", 1), "\\x00"},
           {"nothing", "", ""},
       }) {
    EXPECT_EQ(for_terminal(c.text), c.shown) << c.name;
  }
}

}  // namespace
}  // namespace base

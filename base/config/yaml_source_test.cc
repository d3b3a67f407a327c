#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/config/sources.h"

namespace base::config {
namespace {

using testing::HasSubstr;

std::vector<std::pair<std::string, std::string>> read(std::string_view text) {
  Entries entries = from_yaml(text, "LAKES_", "lakes.yaml");
  EXPECT_TRUE(entries.errors.empty()) << entries.errors.front();
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& entry : entries.entries) out.emplace_back(entry.key, entry.text);
  return out;
}

TEST(YamlTest, maps_are_sections_and_scalars_are_texts) {
  auto got = read("a: 1\nb:\n  c: no\n  d: {e: 0x10, 'f g': \"x # y\"}\nh: |-\n  two\n  lines\n");
  EXPECT_THAT(got,
              testing::ElementsAre(testing::Pair("LAKES_A", "1"), testing::Pair("LAKES_B_C", "no"),
                                   testing::Pair("LAKES_B_D_E", "0x10"),
                                   testing::Pair("LAKES_B_D_F?G", "x # y"),
                                   testing::Pair("LAKES_H", "two\nlines")));
}

TEST(YamlTest, an_entry_leads_back_to_its_place) {
  Entries entries = from_yaml("b:\n  c: 1\n", "LAKES_", "lakes.yaml");
  ASSERT_EQ(entries.entries.size(), 1U);
  EXPECT_EQ(entries.entries[0].source, "lakes.yaml:b.c");
  EXPECT_EQ(entries.entries[0].path, "b.c");
}

TEST(YamlTest, sequences_are_lists) {
  Entries entries = from_yaml("a: [x, 'y z']\nb:\n- 1\n- true\nc: []\n", "LAKES_", "f");
  ASSERT_EQ(entries.entries.size(), 3U);
  for (const auto& entry : entries.entries) EXPECT_EQ(entry.form, EntryForm::kList);
  EXPECT_EQ(entries.entries[0].text, "x,y z");
  EXPECT_EQ(entries.entries[1].text, "1,true");
  EXPECT_EQ(entries.entries[2].text, "");
}

TEST(YamlTest, a_key_without_a_value_is_told_apart_from_an_empty_text) {
  Entries entries = from_yaml("a:\nb: ''\nc: ~\n", "LAKES_", "f");
  ASSERT_EQ(entries.entries.size(), 3U);
  EXPECT_EQ(entries.entries[0].form, EntryForm::kEmpty);
  EXPECT_EQ(entries.entries[1].form, EntryForm::kText);
  EXPECT_EQ(entries.entries[2].form, EntryForm::kEmpty);
}

TEST(YamlTest, nothing_and_comments_are_no_settings) {
  for (const char* text : {"", "\n\n", "# only a note\n", "---\n", "--- \n...\n"}) {
    Entries entries = from_yaml(text, "LAKES_", "f");
    EXPECT_TRUE(entries.entries.empty() && entries.errors.empty()) << text;
  }
}

TEST(YamlTest, an_item_with_a_comma_is_refused) {
  Entries entries = from_yaml("a: ['x,y']\nb: ['']\n", "LAKES_", "f");
  EXPECT_EQ(entries.errors.size(), 2U);
  EXPECT_FALSE(entries.unreadable);
}

std::string nested(std::size_t levels) {
  std::string out;
  for (std::size_t i = 0; i < levels; ++i) out += "{a: ";
  return out + "1" + std::string(levels, '}');
}

TEST(YamlTest, what_could_hide_a_setting_makes_the_whole_document_refused) {
  struct Case {
    const char* name;
    std::string text;
  };
  for (const auto& c : std::initializer_list<Case>{
           {"anchor", "a: &x 1\n"},
           {"alias", "a: &x 1\nb: *x\n"},
           {"anchor of a map", "a: &x {b: 1}\nc: *x\n"},
           {"bomb", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n"},
           {"alias to itself", "a: &a {b: *a}\n"},
           {"unknown alias", "a: *x\n"},
           {"merge key", "a: &x {b: 1}\nc: {<<: *x}\n"},
           {"tag", "a: !!binary aGk=\n"},
           {"own tag", "a: !env HOME\n"},
           {"tag of a map", "a: !x {b: 1}\n"},
           {"key twice", "a: 1\na: 2\n"},
           {"key twice below", "a:\n  b: 1\n  b: 2\n"},
           {"section twice", "a:\n  b: 1\na:\n  c: 2\n"},
           {"key that is a map", "{a: 1}: 2\n"},
           {"key that is a list", "[a]: 2\n"},
           {"key that is nothing", "~: 2\n"},
           {"two documents", "a: 1\n---\nb: 2\n"},
           {"a text alone", "hello\n"},
           {"a list alone", "- a\n"},
           {"list in a list", "a: [[b]]\n"},
           {"map in a list", "a: [{b: 1}]\n"},
           {"nothing in a list", "a: [~]\n"},
           {"one level too deep", nested(kMaxNesting + 2)},
           {"very deep", nested(100'000)},
           {"deep lists", "a: " + std::string(100'000, '[')},
           {"deep block",
            [] {
              std::string out;
              for (std::size_t i = 0; i < 300; ++i) out += std::string(i, ' ') + "a:\n";
              return out;
            }()},
           {"open quote", "a: 'x\n"},
           {"open bracket", "a: [x\n"},
           {"tab", "a:\n\tb: 1\n"},
           {"open quote that takes the rest", "a: 'x\nb: 1\n"},
           {"open double quote", "a: \"x\\\"\nb: 1\n"},
           {"open quote of a key", "'a: 1\n"},
           {"open quote in a list", "a: ['x, y]\n"},
           {"a doubled quote does not close", "a: 'x''\n"},
           {"NUL", std::string("a: \0\n", 5)},
           {"no UTF-8", "a: \xff\n"},
           {"UTF-16", std::string("\xff\xfe"
                                  "a\0:\0 \0"
                                  "1\0\n\0",
                                  12)},
           {"too long", "a: 1\n#" + std::string(1 << 20, 'x')},
       }) {
    Entries entries = from_yaml(c.text, "LAKES_", "f");
    EXPECT_EQ(entries.errors.size(), 1U) << c.name;
    EXPECT_TRUE(entries.unreadable) << c.name;
    EXPECT_TRUE(entries.entries.empty()) << c.name;
  }
}

TEST(YamlTest, quotes_close_where_yaml_says) {
  EXPECT_THAT(
      read("a: 'x''y'\nb: \"q\\\"r\\\\\"\n'c': \"é\"\nd: 'é'\ne: >\n  it's\n"),
      testing::ElementsAre(testing::Pair("LAKES_A", "x'y"), testing::Pair("LAKES_B", "q\"r\\"),
                           testing::Pair("LAKES_C", "é"), testing::Pair("LAKES_D", "é"),
                           testing::Pair("LAKES_E", "it's\n")));
}

TEST(YamlTest, a_byte_order_mark_is_passed_over) {
  EXPECT_THAT(read("\xEF\xBB\xBF"
                   "a: 'x'\n"),
              testing::ElementsAre(testing::Pair("LAKES_A", "x")));
}

TEST(YamlTest, the_deepest_nesting_is_read) { EXPECT_EQ(read(nested(kMaxNesting)).size(), 1U); }

TEST(YamlTest, messages_never_repeat_a_value) {
  for (const char* text : {"a: 'hunter2\n", "a: *hunter2\n", "a: &hunter2 x\n", "a: [hunter2\n"}) {
    Entries entries = from_yaml(text, "LAKES_", "f");
    ASSERT_EQ(entries.errors.size(), 1U) << text;
    EXPECT_THAT(entries.errors[0], testing::Not(HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace base::config

#include "toolserver/connectors/files/relative_path.h"

#include <gtest/gtest.h>

#include "toolserver/connectors/files/forbidden_characters.h"
#include "toolserver/connectors/files/name_rules.h"

namespace tool::files {
namespace {

using base::ErrorKind;

std::string repeated(std::string_view part, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += part;
  return out;
}

// `count` segments, the text `bytes` long in all.
std::string path_of_size(std::size_t count, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i + 1 < count; ++i) out += std::string(240, 's') + "/";
  return out + std::string(bytes - out.size(), 'e');
}

TEST(RelativePathTest, takes_ordinary_names) {
  for (std::string_view text : {"a",
                                "a.txt",
                                "a/b/c.txt",
                                "a b.txt",
                                "a..b.txt",
                                ".hidden",
                                "-",
                                "~",
                                "~root",
                                "a:b",
                                "*",
                                "100%.txt",
                                "a%zz",
                                "caf\u00e9.txt",
                                "\u65e5\u672c\u8a9e/\u6587.txt",
                                "\U0001F600.txt",
                                "a\u0301.txt",
                                "$HOME",
                                "`id`",
                                "a;b",
                                "nul.txt",
                                " leading"}) {
    auto parsed = RelativePath::parse(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message();
    EXPECT_EQ(parsed->text(), text);
  }
}

TEST(RelativePathTest, bounds_are_exact) {
  EXPECT_TRUE(RelativePath::parse(std::string(255, 'a')));
  EXPECT_FALSE(RelativePath::parse(std::string(256, 'a')));
  EXPECT_TRUE(RelativePath::parse(repeated("a/", 31) + "a"));
  EXPECT_FALSE(RelativePath::parse(repeated("a/", 32) + "a"));
  EXPECT_TRUE(RelativePath::parse(path_of_size(17, 4096)));
  EXPECT_FALSE(RelativePath::parse(path_of_size(17, 4097)));
}

TEST(RelativePathTest, refuses_every_broken_byte_sequence) {
  for (std::string_view text :
       {"\x80", "a\xff", "\xc0\xae\xc0\xae/a", "\xe0\x80\xae", "\xf0\x80\x80\xae", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xc3", "a/\xe2\x82"}) {
    auto parsed = RelativePath::parse(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().kind(), ErrorKind::kInvalid);
  }
}

TEST(RelativePathTest, refuses_every_control_character) {
  for (int c = 0; c < 0x20; ++c) {
    EXPECT_FALSE(RelativePath::parse("a" + std::string(1, static_cast<char>(c)) + "b")) << c;
  }
  EXPECT_FALSE(RelativePath::parse("a\x7f"));
  EXPECT_FALSE(RelativePath::parse("a\xc2\x80"));
  EXPECT_FALSE(RelativePath::parse("a\xc2\x9f"));
}

TEST(RelativePathTest, message_does_not_repeat_the_path) {
  auto parsed = RelativePath::parse("../wonderful");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message().find("wonderful"), std::string::npos);
}

TEST(RelativePathTest, child_keeps_the_rules_of_parse) {
  RelativePath folder = RelativePath::parse("a").value();
  EXPECT_EQ(folder.child("b")->text(), "a/b");
  for (std::string_view name : {"", ".", "..", "a/b", "x\n", "\xff", "a."}) {
    EXPECT_FALSE(folder.child(name)) << name;
  }
  EXPECT_FALSE(RelativePath::parse(repeated("a/", 31) + "a")->child("b"));
  EXPECT_TRUE(RelativePath::parse(repeated("a/", 30) + "a")->child("b"));
  EXPECT_FALSE(RelativePath::parse(path_of_size(17, 4096))->child("b"));
}

TEST(RelativePathTest, parent_and_leaf_split_it) {
  RelativePath deep = RelativePath::parse("a/b/c.txt").value();
  EXPECT_EQ(deep.parent().text(), "a/b");
  EXPECT_EQ(deep.leaf(), "c.txt");
  EXPECT_TRUE(RelativePath::parse("c").value().parent().is_root());
}

TEST(ForbiddenCharactersTest, ranges_end_where_they_should) {
  struct Case {
    char32_t code_point;
    bool forbidden;
  };
  for (auto [code_point, forbidden] : std::initializer_list<Case>{
           {0x1F, true},     {0x20, false},     {0x5B, false},    {0x5C, true},     {0x5D, false},
           {0x7E, false},    {0x7F, true},      {0xA0, true},     {0xA1, false},    {0x1FFF, false},
           {0x2000, true},   {0x200F, true},    {0x2010, false},  {0x2023, false},  {0x2024, true},
           {0x2026, true},   {0x2027, false},   {0x2028, true},   {0x202E, true},   {0x2030, false},
           {0x2066, true},   {0x2069, true},    {0x206F, true},   {0x2070, false},  {0xFDCF, false},
           {0xFDD0, true},   {0xFEFE, false},   {0xFEFF, true},   {0xFF00, false},  {0xFF01, true},
           {0xFF0E, true},   {0xFF0F, true},    {0xFF10, false},  {0xFF3C, true},   {0xFFFD, true},
           {0xFFFE, true},   {0x1FFFE, true},   {0x1FFFF, true},  {0x20000, false}, {0xE0001, true},
           {0xE1000, false}, {0x10FFFD, false}, {0x10FFFF, true}, {0x110000, true}}) {
    EXPECT_EQ(is_forbidden(code_point), forbidden) << std::hex << std::uint32_t{code_point};
  }
}

TEST(NameRulesTest, extension_is_what_follows_the_last_dot) {
  EXPECT_EQ(extension_of("a.txt"), "txt");
  EXPECT_EQ(extension_of("a.tar.gz"), "gz");
  EXPECT_EQ(extension_of("a.txt.exe"), "exe");
  EXPECT_EQ(extension_of("a."), "");
  EXPECT_EQ(extension_of("a.txt "), "txt ");
  EXPECT_EQ(extension_of("a"), "");
  EXPECT_EQ(extension_of(".txt"), "");
  EXPECT_EQ(extension_of(".a.txt"), "txt");
  EXPECT_EQ(extension_of(""), "");
}

TEST(NameRulesTest, extensions_are_compared_byte_by_byte) {
  auto rules = NameRules::make({.extensions = {"txt", "csv"}}).value();
  for (auto name : {"a.txt", "a.csv", "a.exe.txt"}) EXPECT_TRUE(rules.allows_file(name)) << name;
  for (auto name : {"a.TXT", "a.Txt", "a", ".txt", "a.tx", "a.txtx", "a.txt.exe", "txt", "a.txt.",
                    "a.txt ", "a.txt\t"}) {
    EXPECT_FALSE(rules.allows_file(name)) << name;
  }
}

TEST(NameRulesTest, options_without_usable_extensions_are_refused) {
  for (const std::vector<std::string>& extensions : std::vector<std::vector<std::string>>{
           {}, {""}, {".txt"}, {"txt", "*"}, {"a/b"}, {"a.b"}, {"t t"}, {std::string(33, 'x')}}) {
    auto rules = NameRules::make({.extensions = extensions});
    ASSERT_FALSE(rules);
    EXPECT_EQ(rules.error().kind(), ErrorKind::kInvalid);
  }
  EXPECT_TRUE(NameRules::make({.extensions = {std::string(32, 'x')}}));
}

TEST(NameRulesTest, hidden_names_need_permission_and_reserved_ones_never_get_it) {
  base::SystemRandom random;
  std::string reserved = temporary_name(random);
  EXPECT_TRUE(is_temporary_name(reserved));
  auto strict = NameRules::make({.extensions = {"txt"}}).value();
  auto open =
      NameRules::make({.extensions = {"txt"}, .allow_hidden = Permission::kAllowed}).value();
  EXPECT_FALSE(strict.allows_segment(".a.txt"));
  EXPECT_TRUE(open.allows_segment(".a.txt"));
  EXPECT_FALSE(open.allows_segment(reserved));
  EXPECT_FALSE(open.allows_segment(".tool-files-anything.txt"));
  EXPECT_FALSE(is_temporary_name(".tool-files-anything.part"));
  EXPECT_FALSE(is_temporary_name(reserved + "x"));
}

}  // namespace
}  // namespace tool::files

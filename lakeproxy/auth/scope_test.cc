#include "lakeproxy/auth/scope.h"

#include <gtest/gtest.h>

#include "lakeproxy/auth/readable_namespaces.h"

namespace lake::auth {
namespace {

using model::Namespace;

Scopes scopes(std::string_view text) {
  auto parsed = Scopes::parse(text, OtherWords::kRefused);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Scopes();
}

bool is_scope(std::string_view text) {
  return Scopes::parse(text, OtherWords::kRefused).has_value();
}

const Namespace kSales{{"sales"}};

TEST(Scopes, each_capability_opens_what_it_says) {
  struct Case {
    const char* text;
    bool reads, writes;
  };
  for (const Case& c : {Case{"ns:sales:r", true, false}, Case{"ns:sales:w", false, true},
                        Case{"ns:sales:rw", true, true}, Case{"ns:sales:*", true, true},
                        Case{"ns:sales:r ns:sales:w", true, true}, Case{"ns:*:r", true, false},
                        Case{"ns:*:w", false, true}, Case{"*", true, true}, Case{"", false, false},
                        Case{"ns:other:rw", false, false}}) {
    EXPECT_EQ(scopes(c.text).open(kSales, Access::kRead), c.reads) << c.text;
    EXPECT_EQ(scopes(c.text).open(kSales, Access::kWrite), c.writes) << c.text;
  }
}

TEST(Scopes, a_name_is_compared_whole) {
  const Scopes held = scopes("ns:sales:* ns:a.b:*");
  for (const Namespace& other :
       {Namespace{{"sale"}}, Namespace{{"sales2"}}, Namespace{{"sales", "eu"}},
        Namespace{{"Sales"}}, Namespace{{"sales "}}, Namespace{{"a"}}, Namespace{{"b"}},
        Namespace{{"a.b"}}, Namespace{{"a", "b", "c"}}, Namespace{{"*"}}}) {
    EXPECT_FALSE(held.open(other, Access::kRead)) << other.display();
    EXPECT_FALSE(held.open(other, Access::kWrite)) << other.display();
  }
  EXPECT_TRUE(held.open(Namespace{{"a", "b"}}, Access::kRead));
}

TEST(Scopes, a_name_may_hold_every_letter_by_its_escape) {
  const std::pair<const char*, Namespace> cases[] = {
      {"ns:a%2Eb:r", {{"a.b"}}},
      {"ns:%2A:r", {{"*"}}},
      {"ns:a%20b:r", {{"a b"}}},
      {"ns:a:b:r", {{"a:b"}}},
      {"ns:ns:r", {{"ns"}}},
      {"ns:%C3%BC:r", {{"\u00fc"}}},
      {"ns:\u00fc.x:r", {{"\u00fc", "x"}}},
      {"ns:100%25:r", {{"100%"}}},
      {"ns:a%2Fb:r", {{"a/b"}}},
  };
  for (const auto& [text, name] : cases) {
    EXPECT_TRUE(scopes(text).open(name, Access::kRead)) << text;
    // As it is written into a token, it means the same.
    EXPECT_TRUE(scopes(scopes(text).text()).open(name, Access::kRead)) << text;
    EXPECT_FALSE(scopes(scopes(text).text()).open_all(Access::kRead)) << text;
  }
}

TEST(Scopes, refuses_what_is_none) {
  for (const char* text :
       {"r",        "ns",         "ns:",      "ns:a",      "ns:a:",    "ns::r",
        "ns:a:x",   "ns:a:R",     "ns:a:wr",  "ns:a:r,w",  "**",       "NS:a:r",
        "ns:a*:r",  "ns:a.*:r",   "ns:*.a:r", "ns:a..b:r", "ns:.a:r",  "ns:a%2:r",
        "ns:%00:r", "ns:a%1Fb:r", "ns:%FF:r", "catalog",   "ns:a:r *x"}) {
    EXPECT_FALSE(is_scope(text)) << text;
    EXPECT_TRUE(Scopes::parse(text, OtherWords::kIgnored)) << text;
  }
  EXPECT_FALSE(is_scope("ns:" + std::string(256, 'a') + ":r"));
  std::string many;
  for (int i = 0; i < 257; ++i) many += "ns:a" + std::to_string(i) + ":r ";
  EXPECT_FALSE(is_scope(many));
  EXPECT_FALSE(Scopes::parse(many, OtherWords::kIgnored));
}

TEST(Scopes, other_words_give_nothing) {
  auto parsed = Scopes::parse("openid ns:a:r ns:b:x profile", OtherWords::kIgnored);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->text(), "ns:a:r");
}

TEST(Scopes, every_namespace_needs_a_wildcard) {
  EXPECT_TRUE(scopes("ns:*:w").open_all(Access::kWrite));
  EXPECT_TRUE(scopes("ns:*:*").open_all(Access::kWrite));
  EXPECT_TRUE(scopes("*").open_all(Access::kWrite));
  EXPECT_FALSE(scopes("ns:*:r").open_all(Access::kWrite));
  EXPECT_FALSE(scopes("ns:%2A:rw").open_all(Access::kWrite)) << "a namespace of that name";
  EXPECT_FALSE(scopes("ns:a:rw ns:b:rw").open_all(Access::kWrite));
  EXPECT_FALSE(scopes("ns:*:*").is_administrator());
}

TEST(Scopes, show_what_is_read_and_the_way_to_it) {
  const Scopes held = scopes("ns:a.b.c:r ns:d:w");
  EXPECT_TRUE(held.show(Namespace{{"a"}}));
  EXPECT_TRUE(held.show(Namespace{{"a", "b"}}));
  EXPECT_TRUE(held.show(Namespace{{"a", "b", "c"}}));
  EXPECT_FALSE(held.show(Namespace{{"a", "b", "c", "d"}}));
  EXPECT_FALSE(held.show(Namespace{{"b"}}));
  EXPECT_FALSE(held.show(Namespace{{"a", "bc"}}));
  EXPECT_FALSE(held.show(Namespace{{"d"}})) << "w alone reads nothing";
  EXPECT_FALSE(held.open(Namespace{{"a"}}, Access::kRead)) << "seen, not read";
}

TEST(Scopes, both_is_never_more_than_either) {
  struct Case {
    const char *held, *asked, *given;
  };
  const Case cases[] = {
      {"*", "*", "*"},
      {"*", "ns:a:r", "ns:a:r"},
      {"ns:a:r", "*", "ns:a:r"},
      {"ns:a:rw", "ns:a:r", "ns:a:r"},
      {"ns:a:r", "ns:a:rw", "ns:a:r"},
      {"ns:a:*", "ns:a:rw", "ns:a:rw"},
      {"ns:a:rw", "ns:a:*", "ns:a:rw"},
      {"ns:*:r", "ns:a:rw", "ns:a:r"},
      {"ns:a:rw", "ns:*:r", "ns:a:r"},
      {"ns:*:rw", "ns:*:w", "ns:*:w"},
      {"ns:a:rw ns:b:r", "ns:*:rw", "ns:a:rw ns:b:r"},
      {"ns:a:r", "ns:a:w", ""},
      {"ns:a:rw", "ns:ab:rw", ""},
      {"ns:a:rw", "ns:a.b:rw", ""},
      {"ns:a.b:rw", "ns:a:rw", ""},
      {"ns:a:r ns:a:w", "ns:a:rw", "ns:a:r ns:a:w"},
  };
  for (const Case& c : cases) {
    const Scopes both = scopes(c.held).both(scopes(c.asked));
    EXPECT_EQ(both.text(), c.given) << c.held << " and " << c.asked;
    EXPECT_TRUE(both.within(scopes(c.held)));
    EXPECT_TRUE(both.within(scopes(c.asked)));
  }
}

TEST(Scopes, list_the_namespaces_that_they_read) {
  struct Case {
    const char* scopes;
    std::optional<std::vector<std::string>> names;
  };
  const Case cases[] = {
      {"", {{}}},
      {"ns:a:r", {{"a"}}},
      {"ns:a:w", {{}}},
      {"ns:a:w ns:b:rw ns:c:*", {{"b", "c"}}},
      {"ns:a.b:r ns:v1%2E2:r", {{"a/b", "v1.2"}}},
      {"ns:*:w ns:a:r", {{"a"}}},
      {"ns:*:r", std::nullopt},
      {"*", std::nullopt},
  };
  for (const Case& c : cases) {
    auto names = readable_namespaces(scopes(c.scopes));
    ASSERT_EQ(names.has_value(), c.names.has_value()) << c.scopes;
    if (!names) continue;
    std::vector<std::string> shown;
    for (const model::Namespace& name : *names) {
      std::string text;
      for (const std::string& level : name.levels) text += (text.empty() ? "" : "/") + level;
      shown.push_back(text);
    }
    EXPECT_EQ(shown, *c.names) << c.scopes;
  }
}

TEST(Scopes, within_is_a_matter_of_each_word) {
  EXPECT_TRUE(scopes("ns:a:r").within(scopes("ns:a:rw")));
  EXPECT_TRUE(scopes("ns:a:r ns:b:w").within(scopes("ns:*:rw")));
  EXPECT_TRUE(scopes("ns:*:*").within(scopes("*")));
  EXPECT_TRUE(scopes("").within(scopes("ns:a:r")));
  EXPECT_FALSE(scopes("*").within(scopes("ns:*:*")));
  EXPECT_FALSE(scopes("ns:*:r").within(scopes("ns:a:r")));
  EXPECT_FALSE(scopes("ns:a:rw").within(scopes("ns:a:r")));
  EXPECT_FALSE(scopes("ns:a:r ns:b:r").within(scopes("ns:a:r")));
}

}  // namespace
}  // namespace lake::auth

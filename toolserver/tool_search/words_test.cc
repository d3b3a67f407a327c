#include "toolserver/tool_search/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tool::tool_search {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(WordsOf, parts_names_as_people_write_them) {
  EXPECT_THAT(words_of("github_list-issues.openPull", 9),
              ElementsAre("github", "list", "issu", "open", "pull"));
  EXPECT_THAT(words_of("S3 EC2instance", 9), ElementsAre("s3", "ec2instanc"));
  EXPECT_THAT(words_of("HTTPRequest", 9), ElementsAre("httprequest"));
}

TEST(WordsOf, leaves_out_what_says_nothing) {
  EXPECT_THAT(words_of("What is the weather in my town?", 9), ElementsAre("weather", "town"));
  EXPECT_THAT(words_of("", 9), IsEmpty());
  EXPECT_THAT(words_of(" ,;-_ ", 9), IsEmpty());
}

TEST(WordsOf, keeps_letters_that_are_not_english_as_they_are) {
  EXPECT_THAT(words_of("größe \xe6\x97\xa5\xe6\x9c\xac", 9),
              ElementsAre("größ", "\xe6\x97\xa5\xe6\x9c\xac"));
}

TEST(WordsOf, is_bounded_in_words_and_in_their_length) {
  EXPECT_THAT(words_of("one2 two three four", 2), ElementsAre("one2", "two"));
  EXPECT_THAT(words_of("one2 two", 0), IsEmpty());
  std::string many(10'000, 'x');
  EXPECT_THAT(words_of(many + " next", 9), ElementsAre(std::string(40, 'x'), "next"));
}

TEST(Stem, makes_forms_of_a_word_alike) {
  for (auto forms : std::vector<std::vector<std::string>>{
           {"message", "messages"},
           {"create", "creates", "creating", "created", "creation"},
           {"run", "runs", "running"},
           {"query", "queries"},
           {"branch", "branches"},
           {"translate", "translation", "translating"},
           {"deploy", "deployment", "deployments", "deployed"}}) {
    for (const auto& form : forms) EXPECT_EQ(stem(form), stem(forms[0])) << form;
  }
}

TEST(Stem, leaves_short_words_and_other_words_apart) {
  for (const char* word : {"bus", "status", "class", "ring", "red", "gas", "x", "analysis"}) {
    EXPECT_EQ(stem(word), word);
  }
  EXPECT_NE(stem("string"), stem("str"));
  EXPECT_NE(stem("posting"), stem("position"));
}

TEST(Alike, goes_both_ways_and_never_to_the_word_itself) {
  EXPECT_THAT(alike(stem("remove")), ::testing::Contains(stem("delete")));
  EXPECT_THAT(alike(stem("delete")), ::testing::Contains(stem("remove")));
  EXPECT_THAT(alike(stem("delete")), ::testing::Not(::testing::Contains(stem("delete"))));
  EXPECT_THAT(alike("zygote"), IsEmpty());
}

}  // namespace
}  // namespace tool::tool_search

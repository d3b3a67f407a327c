#include "toolserver/tool_search/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tool::tool_search {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::size_t> places(const Index& index, std::string_view query, std::size_t most = 5) {
  std::vector<std::size_t> out;
  for (const auto& hit : index.best(query, most)) out.push_back(hit.tool);
  return out;
}

Index mail_and_files() {
  std::vector<Described> tools{
      {"mail.send", "Send mail", "Sends a message to people.", {"to", "subject"}},
      {"files.read", "", "Reads a file as text.", {"path", "offset"}},
      {"files.remove", "", "Removes a file for good.", {"path"}},
      {"notes.add", "", "Keeps a text, such as what a file says about mail.", {"text"}}};
  return Index(tools);
}

TEST(Index, finds_by_name_title_description_and_parameter) {
  Index index = mail_and_files();
  EXPECT_EQ(index.size(), 4U);
  EXPECT_EQ(places(index, "files read").front(), 1U);
  EXPECT_EQ(places(index, "mail").front(), 0U);
  EXPECT_EQ(places(index, "for good").front(), 2U);
  EXPECT_THAT(places(index, "offset"), ElementsAre(1U));
}

TEST(Index, counts_a_name_for_more_than_a_description) {
  EXPECT_THAT(places(mail_and_files(), "mail"), ElementsAre(0U, 3U));
}

TEST(Index, finds_by_words_that_mean_the_same_and_by_beginnings) {
  EXPECT_EQ(places(mail_and_files(), "delete a document").front(), 2U);
  EXPECT_EQ(places(mail_and_files(), "offse"), std::vector<std::size_t>{1});
  EXPECT_THAT(places(mail_and_files(), "rea"), IsEmpty());
}

TEST(Index, finds_nothing_where_there_is_nothing) {
  EXPECT_THAT(places(mail_and_files(), "zygote"), IsEmpty());
  EXPECT_THAT(places(mail_and_files(), ""), IsEmpty());
  EXPECT_THAT(places(mail_and_files(), "the of and"), IsEmpty());
  EXPECT_THAT(places(Index(), "mail"), IsEmpty());
  EXPECT_THAT(places(mail_and_files(), "file", 0), IsEmpty());
}

TEST(Index, gives_as_many_as_are_wanted_the_best_first) {
  Index index = mail_and_files();
  auto hits = index.best("file", 9);
  ASSERT_EQ(hits.size(), 3U);
  EXPECT_GE(hits[0].score, hits[1].score);
  EXPECT_GE(hits[1].score, hits[2].score);
  EXPECT_GT(hits[2].score, 0);
  EXPECT_EQ(index.best("file", 1).size(), 1U);
}

TEST(Index, puts_equal_ones_in_the_order_of_the_list) {
  std::vector<Described> tools(3, Described{"same.name", "", "The same.", {}});
  EXPECT_THAT(places(Index(tools), "name"), ElementsAre(0U, 1U, 2U));
}

TEST(Index, does_not_count_what_a_query_says_twice) {
  Index index = mail_and_files();
  EXPECT_EQ(index.best("mail", 1)[0].score, index.best("mail mails mail", 1)[0].score);
}

TEST(Index, looks_at_a_bounded_part_of_a_query_and_of_a_tool) {
  std::string query = std::string(Index::kQueryBytes, ' ') + "mail";
  EXPECT_THAT(places(mail_and_files(), query), IsEmpty());
  std::string many;
  for (std::size_t i = 0; i < Index::kQueryWords; ++i) many += "w" + std::to_string(i) + " ";
  EXPECT_THAT(places(mail_and_files(), many + "mail"), IsEmpty());
  std::string text;
  for (std::size_t i = 0; i < Index::kWordsOfTool; ++i) text += "word ";
  text += "last";
  EXPECT_THAT(places(Index(std::vector<Described>{{"t", "", text, {}}}), "last"), IsEmpty());
}

}  // namespace
}  // namespace tool::tool_search

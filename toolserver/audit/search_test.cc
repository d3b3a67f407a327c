#include "toolserver/audit/search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toolserver/audit/fixture_test.h"

namespace tool::audit::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SearchTest : public ::testing::Test {
 protected:
  // A file whose lines have these numbers; of each third the tool is files.read.
  void file(std::uint64_t first, std::uint64_t last) {
    std::string text;
    for (std::uint64_t seq = first; seq <= last; ++seq) {
      text += fmt::format(R"({{"kind":"{}","principal":{{"sub":"{}"}},"seq":{},"tool":"{}"}})",
                          seq % 10 == 0 ? "checkpoint" : "seal", seq % 2 == 0 ? "alice" : "bob",
                          seq, seq % 3 == 0 ? "files.read" : "sql.query");
      text += '\n';
    }
    spill(segment_path(folder.path(), first), text);
  }
  std::vector<std::int64_t> found(const Wanted& wanted) {
    auto all = search(folder.path(), wanted);
    EXPECT_TRUE(all.has_value());
    std::vector<std::int64_t> out;
    next = all ? all->next : 0;
    if (!all) return out;
    for (const auto& line : all->lines) {
      out.push_back(base::json::parse(line)->at("seq").as_int64());
    }
    return out;
  }

  base::testing::TemporaryFolder folder;
  std::uint64_t next = 0;
};

TEST_F(SearchTest, finds_the_newest_first_and_goes_on_where_it_stopped) {
  file(1, 12);
  file(13, 20);
  EXPECT_THAT(found({.tool = "files.read", .most = 4}), ElementsAre(18, 15, 12, 9));
  EXPECT_EQ(next, 9U);
  EXPECT_THAT(found({.tool = "files.read", .before = next, .most = 4}), ElementsAre(6, 3));
  EXPECT_EQ(next, 0U);
  EXPECT_THAT(found({.tool = "files.read", .before = 13, .most = 1}), ElementsAre(12));
}

TEST_F(SearchTest, all_that_is_asked_for_must_hold) {
  file(1, 20);
  EXPECT_THAT(found({.tool = "files.read", .principal = "alice"}), ElementsAre(18, 12, 6));
  EXPECT_THAT(found({.tool = "files.read", .principal = "alic"}), IsEmpty());
  EXPECT_THAT(found({.tool = "files.rea"}), IsEmpty());
  EXPECT_THAT(found({.principal = "bob", .text = "\"seq\":1"}), ElementsAre(19, 17, 15, 13, 11, 1));
  EXPECT_THAT(found({.kind = "checkpoint"}), ElementsAre(20, 10));
  EXPECT_THAT(found({.kind = "open"}), IsEmpty());
  EXPECT_EQ(found({}).size(), 18U);
}

TEST_F(SearchTest, a_line_that_is_no_record_is_left_out) {
  spill(segment_path(folder.path(), 1),
        "not json\n{\"kind\":\"seal\"}\n[]\n{\"kind\":\"seal\",\"seq\":-1}\n"
        "{\"kind\":\"seal\",\"seq\":4}\n{\"kind\":\"seal\",\"seq\":5");
  EXPECT_THAT(found({}), ElementsAre(4));
  EXPECT_FALSE(search(folder.path() + "/none", {}).has_value());
}

TEST_F(AuditTest, a_search_finds_a_call_that_was_recorded) {
  auto log = open();
  call(*log);
  log.reset();
  auto all = search(folder(), {.kind = "seal", .tool = "sql.query", .principal = "alice"});
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->lines.size(), 1U);
}

}  // namespace
}  // namespace tool::audit::testing

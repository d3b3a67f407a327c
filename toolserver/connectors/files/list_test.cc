#include "toolserver/connectors/files/fixture_test.h"

namespace tool::files {
namespace {

using base::ErrorKind;

class ListTest : public testing::TestWithParam<MechanismChoice>, public FilesFixture {
 protected:
  std::vector<std::string> names(const ListAnswer& answer) {
    std::vector<std::string> out;
    for (const auto& entry : answer.entries) out.push_back(entry.path.text());
    return out;
  }
  /// All pages, with `most` entries on each but the last.
  std::vector<std::string> paged(ListRequest request, std::size_t most) {
    auto settings = options(GetParam());
    settings.list_cap = most;
    auto opened = store(settings);
    std::vector<std::string> out;
    for (int page = 0; page < 100; ++page) {
      auto answer = opened->list(request, {}, {});
      if (!answer) ADD_FAILURE() << answer.error().message();
      if (!answer) break;
      for (auto& name : names(*answer)) out.push_back(std::move(name));
      EXPECT_LE(answer->entries.size(), most);
      if (answer->complete) return out;
      EXPECT_EQ(answer->entries.size(), most);
      request.after = answer->entries.back().path;
    }
    ADD_FAILURE() << "the listing does not end";
    return out;
  }
};

TEST_P(ListTest, one_folder_or_all_below_it_in_order) {
  auto opened = store(options(GetParam()));
  EXPECT_EQ(names(*opened->list({}, {}, {})), (std::vector<std::string>{"a.txt", "folder"}));
  EXPECT_EQ(names(*opened->list({.recursion = Recursion::kYes}, {}, {})),
            (std::vector<std::string>{"a.txt", "folder", "folder/b.txt", "folder/deep",
                                      "folder/deep/c.txt"}));
  EXPECT_EQ(names(*opened->list({.folder = path("folder"), .recursion = Recursion::kYes}, {}, {})),
            (std::vector<std::string>{"folder/b.txt", "folder/deep", "folder/deep/c.txt"}));
  EXPECT_EQ(opened->list({.folder = path("none")}, {}, {}).error().kind(), ErrorKind::kNotFound);
}

TEST_P(ListTest, what_a_read_would_refuse_is_not_shown) {
  plant_other_kinds(*this);
  make_link("../outside", root("out"));
  make_link("a.txt", root("inner.txt"));
  put_file(root("b.exe"), "x");
  put_file(root("upper.TXT"), "x");
  put_file(root(".hidden.txt"), "x");
  put_file(root(".tool-files-x.txt"), "x");
  put_file(root("bad\xff.txt"), "x");
  put_file(root("line\nbreak.txt"), "x");
  put_file(root("trick\u202e.txt"), "x");
  put_file(root("dot.txt."), "x");
  make_folder(root(".git"));
  put_file(root(".git/config.txt"), "x");
  auto opened = store(options(GetParam()));
  EXPECT_EQ(names(*opened->list({.recursion = Recursion::kYes}, {}, {})),
            (std::vector<std::string>{"a.txt", "folder", "folder/b.txt", "folder/deep",
                                      "folder/deep/c.txt"}));
}

TEST_P(ListTest, pages_of_any_size_give_the_same_entries_once) {
  for (int i = 0; i < 7; ++i) put_file(root("folder/deep/n" + std::to_string(i) + ".txt"), "x");
  make_folder(root("folder.a"));
  put_file(root("folder.a/z.txt"), "x");
  make_folder(root("empty"));
  ListRequest all{.recursion = Recursion::kYes};
  auto whole = paged(all, 1000);
  EXPECT_EQ(whole.size(), 15U);
  for (std::size_t most = 1; most <= 16; ++most) EXPECT_EQ(paged(all, most), whole) << most;
  EXPECT_EQ(paged({.folder = path("folder")}, 1),
            (std::vector<std::string>{"folder/b.txt", "folder/deep"}));
}

TEST_P(ListTest, a_cursor_survives_the_end_of_its_entry) {
  auto opened = store(options(GetParam()));
  ListRequest next{.recursion = Recursion::kYes, .after = path("folder/b.txt")};
  ASSERT_TRUE(opened->remove(path("folder/b.txt"), Effect::kApply));
  EXPECT_EQ(names(*opened->list(next, {}, {})),
            (std::vector<std::string>{"folder/deep", "folder/deep/c.txt"}));
}

TEST_P(ListTest, a_cursor_of_another_listing_is_refused) {
  auto opened = store(options(GetParam()));
  for (auto after : {"a.txt", "folder", "folders/b.txt"}) {
    ListRequest request{.folder = path("folder"), .after = path(after)};
    EXPECT_EQ(opened->list(request, {}, {}).error().kind(), ErrorKind::kInvalid) << after;
  }
}

TEST_P(ListTest, a_full_page_says_whether_more_follow) {
  auto settings = options(GetParam());
  settings.list_cap = 2;
  auto exact = store(settings)->list({}, {}, {});
  EXPECT_TRUE(exact->complete);
  settings.list_cap = 1;
  auto cut = store(settings)->list({}, {}, {});
  EXPECT_FALSE(cut->complete);
  EXPECT_EQ(cut->entries.size(), 1U);
}

TEST_P(ListTest, long_listings_report_and_stop) {
  make_folder(root("many"));
  for (int i = 0; i < 1000; ++i) put_file(root("many/" + std::to_string(i) + ".txt"), "");
  auto opened = store(options(GetParam()));
  std::uint64_t last = 0;
  auto answer = opened->list({.recursion = Recursion::kYes}, {}, [&](auto n) { last = n; });
  EXPECT_EQ(answer->entries.size(), 1006U);
  EXPECT_GE(last, 768U);

  Watch watch;
  std::uint64_t seen = 0;
  auto stopped = opened->list({.recursion = Recursion::kYes}, watch, [&](auto n) {
    seen = n;
    *watch.stopped = true;
  });
  EXPECT_EQ(stopped.error().kind(), ErrorKind::kCancelled);
  EXPECT_LE(seen, 256U);
  Watch late{.deadline = std::chrono::steady_clock::now()};
  EXPECT_EQ(opened->list({}, late, {}).error().kind(), ErrorKind::kTimeout);
}

TEST_P(ListTest, folders_deeper_than_a_path_can_name_are_not_shown) {
  std::string deep = "folder";
  for (int i = 0; i < 40; ++i) deep += "/d";
  make_folder(root(deep));
  auto answer = store(options(GetParam()))->list({.recursion = Recursion::kYes}, {}, {});
  ASSERT_TRUE(answer);
  for (const auto& entry : answer->entries) EXPECT_LE(entry.path.segments().size(), 32U);
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, ListTest, testing::ValuesIn(mechanisms()), mechanism_name);

}  // namespace
}  // namespace tool::files

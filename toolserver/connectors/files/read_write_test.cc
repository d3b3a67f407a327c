#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <thread>

#include "toolserver/connectors/files/fixture_test.h"
#include "toolserver/connectors/files/name_rules.h"

namespace tool::files {
namespace {

using base::ErrorKind;

class ReadWriteTest : public testing::Test, public FilesFixture {
 protected:
  base::Result<ReadAnswer> read_text(FileStore& store, std::string_view name, std::uint64_t offset,
                                     std::optional<std::uint64_t> length = {}) {
    return store.read({.path = path(name), .offset = offset, .length = length}, {});
  }
};

ErrorKind kind_of(const auto& result) {
  EXPECT_FALSE(result);
  return result ? ErrorKind::kInternal : result.error().kind();
}

TEST_F(ReadWriteTest, ranges_are_exact_at_both_ends) {
  put_file(root("ten.txt"), "0123456789");
  auto opened = store(options());
  struct Case {
    std::uint64_t offset;
    std::optional<std::uint64_t> length;
    std::string_view bytes;
    bool end;
  };
  for (const auto& [offset, length, bytes, end] : std::initializer_list<Case>{
           {0, {}, "0123456789", true},
           {0, 0, "", false},
           {0, 9, "012345678", false},
           {0, 10, "0123456789", true},
           {0, 11, "0123456789", true},
           {9, 1, "9", true},
           {10, {}, "", true},
           {10, 5, "", true},
           {3, 4, "3456", false},
       }) {
    auto answer = read_text(*opened, "ten.txt", offset, length);
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->bytes, bytes);
    EXPECT_EQ(answer->end, end);
    EXPECT_EQ(answer->size, 10U);
  }
  EXPECT_EQ(kind_of(read_text(*opened, "ten.txt", 11)), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(read_text(*opened, "ten.txt", std::uint64_t{1} << 63)), ErrorKind::kInvalid);
}

TEST_F(ReadWriteTest, read_cap_is_exact) {
  auto settings = options();
  settings.read_cap = 10;
  put_file(root("ten.txt"), std::string(10, 'x'));
  put_file(root("eleven.txt"), std::string(11, 'x'));
  auto opened = store(settings);
  EXPECT_TRUE(read_text(*opened, "ten.txt", 0));
  EXPECT_EQ(kind_of(read_text(*opened, "eleven.txt", 0)), ErrorKind::kTooLarge);
  EXPECT_EQ(kind_of(read_text(*opened, "eleven.txt", 0, 11)), ErrorKind::kTooLarge);
  EXPECT_EQ(read_text(*opened, "eleven.txt", 0, 10)->bytes.size(), 10U);
  EXPECT_EQ(read_text(*opened, "eleven.txt", 1)->bytes.size(), 10U);
}

TEST_F(ReadWriteTest, text_ranges_never_cut_a_character) {
  put_file(root("wide.txt"), "a\u20acb\U0001F600c");  // 1 + 3 + 1 + 4 + 1 bytes.
  auto opened = store(options());
  EXPECT_EQ(read_text(*opened, "wide.txt", 0, 2)->bytes, "a");
  EXPECT_EQ(read_text(*opened, "wide.txt", 0, 3)->bytes, "a");
  EXPECT_EQ(read_text(*opened, "wide.txt", 0, 4)->bytes, "a\u20ac");
  EXPECT_EQ(read_text(*opened, "wide.txt", 5, 5)->bytes, "\U0001F600c");
  EXPECT_FALSE(read_text(*opened, "wide.txt", 0, 4)->end);
  EXPECT_EQ(kind_of(read_text(*opened, "wide.txt", 2)), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(read_text(*opened, "wide.txt", 1, 2)), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(read_text(*opened, "wide.txt", 5, 3)), ErrorKind::kInvalid);
}

TEST_F(ReadWriteTest, bytes_that_are_not_utf8_are_read_as_base64_only) {
  put_file(root("latin.txt"), "caf\xe9");
  put_file(root("cut.txt"), "a\xe2\x82");
  auto opened = store(options());
  EXPECT_EQ(kind_of(read_text(*opened, "latin.txt", 0)), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(read_text(*opened, "cut.txt", 0)), ErrorKind::kInvalid);
  auto bytes = opened->read({.path = path("latin.txt"), .encoding = Encoding::kBase64}, {});
  EXPECT_EQ(bytes->bytes, "caf\xe9");
}

TEST_F(ReadWriteTest, create_wants_a_free_name_and_replace_takes_any) {
  auto opened = store(options());
  EXPECT_EQ(kind_of(opened->write({path("a.txt"), "x"}, {})), ErrorKind::kAlreadyExists);
  EXPECT_EQ(file_content(root("a.txt")), "alpha");
  EXPECT_TRUE(opened->write({path("new.txt"), "x"}, {})->created);
  EXPECT_FALSE(opened->write({path("a.txt"), "y", WriteMode::kReplace}, {})->created);
  EXPECT_EQ(file_content(root("a.txt")), "y");
  EXPECT_TRUE(opened->write({path("free.txt"), "", WriteMode::kReplace}, {})->created);
  EXPECT_EQ(kind_of(opened->write({path("none/a.txt"), "x"}, {})), ErrorKind::kNotFound);
  EXPECT_EQ(host_names(root()),
            (std::vector<std::string>{"a.txt", "folder", "free.txt", "new.txt"}));
}

TEST_F(ReadWriteTest, replace_keeps_the_permissions) {
  ASSERT_EQ(::chmod(root("a.txt").c_str(), 0604), 0);
  auto opened = store(options());
  ASSERT_TRUE(opened->write({path("a.txt"), "x", WriteMode::kReplace}, {}));
  EXPECT_EQ(opened->stat(path("a.txt"))->mode, 0604U);
  ASSERT_TRUE(opened->write({path("n.txt"), "x"}, {}));
  EXPECT_EQ(opened->stat(path("n.txt"))->mode, 0640U);
}

TEST_F(ReadWriteTest, write_cap_is_exact) {
  auto settings = options();
  settings.write_cap = 10;
  auto opened = store(settings);
  EXPECT_TRUE(opened->write({path("ten.txt"), std::string(10, 'x')}, {}));
  EXPECT_EQ(kind_of(opened->write({path("more.txt"), std::string(11, 'x')}, {})),
            ErrorKind::kTooLarge);
  EXPECT_FALSE(exists(root("more.txt")));
}

TEST_F(ReadWriteTest, quota_counts_what_is_there_what_is_replaced_and_what_is_deleted) {
  auto settings = options();
  settings.quota = 24;  // 14 bytes are there.
  auto opened = store(settings);
  EXPECT_EQ(opened->report().bytes, 14U);
  EXPECT_EQ(kind_of(opened->write({path("x.txt"), std::string(11, 'x')}, {})),
            ErrorKind::kTooLarge);
  EXPECT_TRUE(opened->write({path("x.txt"), std::string(10, 'x')}, {}));
  EXPECT_EQ(kind_of(opened->write({path("y.txt"), "y"}, {})), ErrorKind::kTooLarge);
  EXPECT_TRUE(opened->remove(path("x.txt"), Effect::kApply));
  EXPECT_TRUE(opened->write({path("a.txt"), std::string(10, 'a'), WriteMode::kReplace}, {}));
  EXPECT_TRUE(opened->write({path("y.txt"), "12345"}, {}));
  EXPECT_EQ(kind_of(opened->write({path("z.txt"), "z"}, {})), ErrorKind::kTooLarge);
  EXPECT_EQ(kind_of(opened->write({path("a.txt"), "x"}, {})), ErrorKind::kAlreadyExists);
}

TEST_F(ReadWriteTest, writing_and_deleting_need_permission) {
  auto settings = options();
  settings.allow_write = Permission::kRefused;
  settings.allow_delete = Permission::kRefused;
  auto opened = store(settings);
  EXPECT_EQ(kind_of(opened->write({path("n.txt"), "x"}, {})), ErrorKind::kForbidden);
  EXPECT_EQ(kind_of(opened->remove(path("a.txt"), Effect::kApply)), ErrorKind::kForbidden);
  EXPECT_TRUE(exists(root("a.txt")));
}

TEST_F(ReadWriteTest, hidden_files_need_permission) {
  put_file(root(".h.txt"), "hidden");
  EXPECT_EQ(kind_of(read_text(*store(options()), ".h.txt", 0)), ErrorKind::kForbidden);
  auto settings = options();
  settings.allow_hidden = Permission::kAllowed;
  EXPECT_EQ(read_text(*store(settings), ".h.txt", 0)->bytes, "hidden");
}

TEST_F(ReadWriteTest, a_rehearsal_checks_and_changes_nothing) {
  auto opened = store(options());
  EXPECT_TRUE(
      opened->write({path("n.txt"), "x", WriteMode::kCreate, Effect::kRehearse}, {})->created);
  EXPECT_FALSE(exists(root("n.txt")));
  EXPECT_EQ(kind_of(opened->write({path("a.txt"), "x", WriteMode::kCreate, Effect::kRehearse}, {})),
            ErrorKind::kAlreadyExists);
  EXPECT_TRUE(opened->remove(path("a.txt"), Effect::kRehearse));
  EXPECT_TRUE(exists(root("a.txt")));
  EXPECT_EQ(kind_of(opened->remove(path("n.txt"), Effect::kRehearse)), ErrorKind::kNotFound);
}

TEST_F(ReadWriteTest, delete_removes_just_the_file) {
  auto opened = store(options());
  EXPECT_TRUE(opened->remove(path("folder/b.txt"), Effect::kApply));
  EXPECT_FALSE(exists(root("folder/b.txt")));
  EXPECT_TRUE(exists(root("folder/deep/c.txt")));
  EXPECT_EQ(kind_of(opened->remove(path("folder/b.txt"), Effect::kApply)), ErrorKind::kNotFound);
}

TEST_F(ReadWriteTest, a_watch_that_has_ended_stops_a_write_before_it_is_seen) {
  auto opened = store(options());
  Watch late{.deadline = std::chrono::steady_clock::now()};
  EXPECT_EQ(kind_of(opened->write({path("n.txt"), "x"}, late)), ErrorKind::kTimeout);
  Watch stopped;
  *stopped.stopped = true;
  EXPECT_EQ(kind_of(opened->write({path("n.txt"), "x"}, stopped)), ErrorKind::kCancelled);
  EXPECT_EQ(kind_of(opened->read({.path = path("a.txt")}, late)), ErrorKind::kTimeout);
  EXPECT_EQ(host_names(root()), (std::vector<std::string>{"a.txt", "folder"}));
}

TEST_F(ReadWriteTest, one_of_many_creators_wins) {
  auto opened = store(options());
  std::atomic<int> won = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      auto answer =
          opened->write({path("one.txt"), std::string(1000, static_cast<char>('a' + i))}, {});
      if (answer) ++won;
      if (!answer) EXPECT_EQ(answer.error().kind(), ErrorKind::kAlreadyExists);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(file_content(root("one.txt")).size(), 1000U);
}

TEST_F(ReadWriteTest, readers_see_whole_files_while_many_replace_them) {
  auto opened = store(options());
  constexpr std::size_t kSize = 300'000;
  auto content = [](int i) { return std::string(kSize, static_cast<char>('a' + i)); };
  ASSERT_TRUE(opened->write({path("r.txt"), content(0)}, {}));
  std::atomic<int> left = 4;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_TRUE(opened->write({path("r.txt"), content(i), WriteMode::kReplace}, {}));
      }
      --left;
    });
  }
  int seen = 0;
  while (left > 0) {
    auto answer = read_text(*opened, "r.txt", 0);
    if (!answer) EXPECT_EQ(answer.error().kind(), ErrorKind::kUnavailable);
    if (!answer) continue;
    ASSERT_EQ(answer->bytes.size(), kSize);
    EXPECT_EQ(answer->bytes, std::string(kSize, answer->bytes.front()));
    ++seen;
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GT(seen, 0);
  EXPECT_EQ(host_names(root()), (std::vector<std::string>{"a.txt", "folder", "r.txt"}));
}

TEST_F(ReadWriteTest, the_start_removes_left_overs_that_nobody_holds) {
  std::string left = root("folder/" + temporary_name(random));
  std::string held = root(temporary_name(random));
  put_file(left, "half");
  put_file(held, "half");
  put_file(root(".tool-files-mine.part"), "not ours");
  base::files::Descriptor holder(::open(held.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(holder.get(), LOCK_EX), 0);

  auto reading = options();
  reading.allow_write = Permission::kRefused;
  EXPECT_EQ(store(reading)->report().removed, 0U);
  EXPECT_TRUE(exists(left));

  EXPECT_EQ(store(options())->report().removed, 1U);
  EXPECT_FALSE(exists(left));
  EXPECT_TRUE(exists(held));
  EXPECT_TRUE(exists(root(".tool-files-mine.part")));
}

}  // namespace
}  // namespace tool::files

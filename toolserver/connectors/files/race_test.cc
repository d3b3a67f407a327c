// Somebody on the host swaps a folder and a file with links to the outside,
// thousands of times, while all tools run on them.

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "toolserver/connectors/files/fixture_test.h"

namespace tool::files {
namespace {

using base::ErrorKind;

constexpr auto kTime = std::chrono::milliseconds(700);
constexpr int kLeastSwaps = 2000;

class RaceTest : public testing::TestWithParam<MechanismChoice>, public FilesFixture {
 protected:
  void SetUp() override;
  void swap_until(const std::atomic<bool>& stop);
  void expect_no_canary(const std::string& bytes);
  void expect_expected(ErrorKind kind);
  void act(FileStore& store);

  std::atomic<int> swaps_ = 0;
  int reads_ = 0;
  int writes_ = 0;
};

// folder <-> link to outside; swap.txt <-> link to the canary.
void RaceTest::SetUp() {
  make_link("../outside", root("other"));
  put_file(root("swap.txt"), "inside");
  make_link("../outside/canary.txt", root("other.txt"));
}

void RaceTest::swap_until(const std::atomic<bool>& stop) {
  base::files::Descriptor at(::open(root().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  while (!stop) {
    bool swapped = ::renameat2(at.get(), "folder", at.get(), "other", RENAME_EXCHANGE) == 0;
    swapped =
        ::renameat2(at.get(), "swap.txt", at.get(), "other.txt", RENAME_EXCHANGE) == 0 && swapped;
    if (swapped) ++swaps_;
  }
}

void RaceTest::expect_no_canary(const std::string& bytes) {
  EXPECT_EQ(bytes.find(kCanary), std::string::npos);
}

// Whatever the race does, an error is one that the caller can understand.
void RaceTest::expect_expected(ErrorKind kind) {
  EXPECT_TRUE(kind == ErrorKind::kForbidden || kind == ErrorKind::kNotFound ||
              kind == ErrorKind::kUnavailable || kind == ErrorKind::kAlreadyExists ||
              kind == ErrorKind::kConflict)
      << base::to_string(kind);
}

void RaceTest::act(FileStore& store) {
  for (std::string_view name : {"folder/b.txt", "folder/folder/b.txt", "folder/canary.txt",
                                "swap.txt", "folder/deep/c.txt"}) {
    auto read = store.read({.path = path(name)}, {});
    if (read) expect_no_canary(read->bytes);
    if (!read) expect_expected(read.error().kind());
    reads_ += read ? 1 : 0;
    if (auto seen = store.stat(path(name))) EXPECT_NE(seen->size, kCanary.size());
    auto written = store.write({path(name), "overwritten", WriteMode::kReplace}, {});
    if (!written) expect_expected(written.error().kind());
    writes_ += written ? 1 : 0;
  }
  auto created = store.write({path("folder/new.txt"), "new"}, {});
  if (!created) expect_expected(created.error().kind());
  for (std::string_view name : {"folder/new.txt", "folder/canary.txt", "folder/b.txt"}) {
    auto removed = store.remove(path(name), Effect::kApply);
    if (!removed) expect_expected(removed.error().kind());
  }
  auto all = store.list({.recursion = Recursion::kYes}, {}, {});
  ASSERT_TRUE(all) << all.error().message();
  for (const auto& entry : all->entries) EXPECT_NE(entry.facts.size, kCanary.size());
}

TEST_P(RaceTest, the_canary_is_never_touched_while_folders_turn_into_links) {
  auto opened = store(options(GetParam()));
  std::atomic<bool> stop = false;
  std::thread swapper([&] { swap_until(stop); });
  auto end = std::chrono::steady_clock::now() + kTime;
  while (std::chrono::steady_clock::now() < end || (swaps_ < kLeastSwaps && !HasFailure())) {
    act(*opened);
    if (HasFailure()) break;
  }
  stop = true;
  swapper.join();
  EXPECT_GE(swaps_, kLeastSwaps);
  EXPECT_GT(reads_, 0);
  EXPECT_GT(writes_, 0);
  expect_canary_untouched();
}

// The name means the outside half of the time; one thread of readers beside
// one of writers on the same connector.
TEST_P(RaceTest, readers_and_writers_on_one_store_stay_inside) {
  auto opened = store(options(GetParam()));
  std::atomic<bool> stop = false;
  std::thread swapper([&] { swap_until(stop); });
  std::thread writer([&] {
    while (!stop) {
      (void)opened->write(
          {path("swap.txt"), std::string(kCanary.size() + 1, 'w'), WriteMode::kReplace}, {});
      (void)opened->remove(path("folder/b.txt"), Effect::kApply);
    }
  });
  auto end = std::chrono::steady_clock::now() + kTime / 2;
  while (std::chrono::steady_clock::now() < end) {
    auto read = opened->read({.path = path("swap.txt")}, {});
    if (read) expect_no_canary(read->bytes);
    if (!read) expect_expected(read.error().kind());
  }
  stop = true;
  swapper.join();
  writer.join();
  expect_canary_untouched();
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, RaceTest, testing::ValuesIn(mechanisms()), mechanism_name);

}  // namespace
}  // namespace tool::files

// A process that is killed in the middle of writing: readers see the old file
// or the new one, and the next start clears up.

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "toolserver/connectors/files/fixture_test.h"

namespace tool::files {
namespace {

constexpr std::size_t kSize = 2 << 20;
constexpr int kKills = 12;

std::string content_of(int round) {
  return std::string(kSize, static_cast<char>('a' + round % 26));
}

// In the child: one byte to the parent for each finished write, until killed.
[[noreturn]] void write_forever(const FilesOptions& options, int progress) {
  base::SystemRandom random;
  auto store = FileStore::open(options, random);
  if (!store) ::_exit(1);
  for (int round = 0;; ++round) {
    auto done = (*store)->write(
        {RelativePath::parse("big.txt").value(), content_of(round), WriteMode::kReplace}, {});
    if (!done || ::write(progress, "x", 1) != 1) ::_exit(1);
  }
}

TEST(CrashTest, a_kill_while_writing_leaves_the_old_file_or_the_new_one) {
  FilesFixture files;
  ASSERT_TRUE(files.store(files.options())
                  ->write({path("big.txt"), content_of(0), WriteMode::kReplace}, {}));
  for (int kill = 0; kill < kKills; ++kill) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    base::files::Descriptor in(ends[0]);
    base::files::Descriptor out(ends[1]);
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_forever(files.options(), out.get());
    char byte = 0;
    ASSERT_EQ(::read(in.get(), &byte, 1), 1);
    // Somewhere within the writes that follow the first one.
    std::this_thread::sleep_for(std::chrono::microseconds(137 * kill * kill));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    std::string seen = file_content(files.root("big.txt"));
    ASSERT_EQ(seen.size(), kSize);
    ASSERT_EQ(seen, std::string(kSize, seen.front()));
  }
  auto again = files.store(files.options());
  EXPECT_EQ(host_names(files.root()), (std::vector<std::string>{"a.txt", "big.txt", "folder"}));
  EXPECT_TRUE(again->write({path("big.txt"), "small", WriteMode::kReplace}, {}));
  files.expect_canary_untouched();
}

}  // namespace
}  // namespace tool::files

#include "base/files/private_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/files/descriptor.h"
#include "base/testing/child_process.h"

namespace base::files {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class PrivateFile : public ::testing::Test {
 protected:
  base::testing::TemporaryFolder folder_;
  fs::path path_ = fs::path(folder_.path()) / "pins.json";
  fs::path part_ = fs::path(folder_.path()) / "pins.json.part";
};

TEST_F(PrivateFile, is_replaced_and_closed_to_others) {
  for (auto durability : {Durability::kWritten, Durability::kSynced}) {
    for (std::string_view text : {"one", "", "another"}) {
      ASSERT_TRUE(replace_private_file(path_, text, durability));
      EXPECT_EQ(text_of(path_), text);
      struct stat facts{};
      ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
      EXPECT_EQ(facts.st_mode & 0777, 0600U);
      EXPECT_FALSE(fs::exists(part_));
    }
  }
}

TEST_F(PrivateFile, is_not_written_through_what_lies_in_the_way) {
  fs::path other = fs::path(folder_.path()) / "other";
  std::ofstream(other) << "untouched";
  fs::create_symlink(other, part_);
  ASSERT_TRUE(replace_private_file(path_, "new"));
  EXPECT_EQ(text_of(path_), "new");
  EXPECT_EQ(text_of(other), "untouched");
  EXPECT_FALSE(fs::is_symlink(path_));
}

TEST_F(PrivateFile, the_old_one_stands_when_the_new_one_cannot_be_written) {
  ASSERT_TRUE(replace_private_file(path_, "old"));
  fs::create_directory(part_);
  auto status = replace_private_file(path_, "new");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(text_of(path_), "old");
  EXPECT_FALSE(replace_private_file(path_.parent_path() / "none" / "pins.json", "new"));
}

TEST_F(PrivateFile, is_read_up_to_its_limit) {
  ASSERT_TRUE(replace_private_file(path_, "12345"));
  Descriptor file(::open(path_.c_str(), O_RDONLY));
  EXPECT_EQ(read_whole(file.get(), 5), "12345");
  Descriptor again(::open(path_.c_str(), O_RDONLY));
  EXPECT_EQ(read_whole(again.get(), 4).error().kind(), ErrorKind::kTooLarge);
  Descriptor folder(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY));
  EXPECT_EQ(read_whole(folder.get(), 1'000).error().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(read_whole(-1, 1).error().kind(), ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace base::files

#include "base/config/file_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace base::config {
namespace {

FileText file(uid_t owner, mode_t mode) {
  return {.state = FileText::State::kRead, .text = {}, .mode = mode, .owner = owner};
}

TEST(FileTextTest, a_file_that_others_could_have_written_breaks_the_rule) {
  const uid_t own = ::geteuid(), root = 0, other = own + 1;
  struct Case {
    uid_t owner;
    mode_t mode;
    bool good;
  };
  for (const auto& c :
       {Case{own, 0600, true}, Case{own, 0644, true}, Case{own, 0755, true}, Case{root, 0444, true},
        Case{own, 0620, false}, Case{own, 0602, false}, Case{root, 0666, false},
        Case{other, 0600, false}, Case{other, 0400, false}}) {
    EXPECT_EQ(write_access_rule(file(c.owner, c.mode)).empty(), c.good) << c.owner << " " << c.mode;
  }
}

TEST(FileTextTest, a_file_with_a_secret_is_closed_to_group_and_others) {
  for (mode_t mode : {0600, 0400, 0700}) {
    EXPECT_TRUE(secret_access_rule(file(::geteuid(), mode)).empty()) << mode;
  }
  for (mode_t mode : {0640, 0604, 0644, 0610, 0601, 0660, 0666}) {
    EXPECT_FALSE(secret_access_rule(file(::geteuid(), mode)).empty()) << mode;
  }
}

TEST(FileTextTest, a_file_is_known_by_what_it_is_and_whose) {
  std::string folder = testing::TempDir() + "file-text-XXXXXX";
  std::filesystem::path path = std::filesystem::path(mkdtemp(folder.data())) / "f";
  EXPECT_EQ(read_file(path).state, FileText::State::kMissing);
  std::ofstream(path) << "text";
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  std::filesystem::create_symlink(path, path.string() + ".link");
  for (const std::string& name : {path.string(), path.string() + ".link"}) {
    FileText read = read_file(name);
    EXPECT_EQ(read.state, FileText::State::kRead);
    EXPECT_EQ(read.text, "text");
    EXPECT_EQ(read.mode & 0777, 0640U);
    EXPECT_EQ(read.owner, ::geteuid());
  }
  EXPECT_EQ(read_file(path.parent_path()).state, FileText::State::kRefused);
  std::filesystem::remove_all(path.parent_path());
}

}  // namespace
}  // namespace base::config

// Containment below the level of tools: mounts, magic links, and a root whose
// own path changes its meaning.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "toolserver/connectors/files/fixture_test.h"

namespace tool::files {
namespace {

using base::ErrorKind;

class ContainmentTest : public testing::TestWithParam<MechanismChoice>, public FilesFixture {};

std::string text_of(const FileStore& store, std::string_view name) {
  auto answer = store.read({.path = path(name)}, {});
  return answer ? answer->bytes : answer.error().message();
}

TEST(RootTest, what_is_not_an_absolute_folder_is_refused) {
  FilesFixture files;
  make_link("nowhere", files.top() + "/dangling");
  for (const std::string& root :
       {std::string(), std::string("/"), std::string("//"), std::string("relative"),
        files.top() + "/missing", files.root("a.txt"), files.root("folder/.."),
        files.top() + "/dangling", files.root() + std::string("\0x", 2)}) {
    auto opened = PathResolver::open(root, MechanismChoice::kBest);
    ASSERT_FALSE(opened) << root;
    EXPECT_EQ(opened.error().kind(), ErrorKind::kInvalid) << root;
    EXPECT_EQ(opened.error().message().find(files.top()), std::string::npos);
  }
}

TEST_P(ContainmentTest, the_chosen_mechanism_is_reported) {
  auto opened = store(options(GetParam()));
  auto wanted = GetParam() == MechanismChoice::kWalk ? Mechanism::kWalk : Mechanism::kOpenat2;
  EXPECT_EQ(opened->report().mechanism, wanted);
  EXPECT_FALSE(name(opened->report().mechanism).empty());
}

TEST_P(ContainmentTest, a_root_behind_a_link_stays_what_it_was_at_the_start) {
  make_link("root", top() + "/alias");
  auto settings = options(GetParam());
  settings.root = top() + "/alias";
  auto opened = store(settings);
  EXPECT_EQ(text_of(*opened, "a.txt"), "alpha");
  ASSERT_EQ(::unlink((top() + "/alias").c_str()), 0);
  make_link("outside", top() + "/alias");
  EXPECT_EQ(text_of(*opened, "a.txt"), "alpha");
  ASSERT_TRUE(opened->write({path("new.txt"), "new"}, {}));
  EXPECT_EQ(file_content(root("new.txt")), "new");
  expect_canary_untouched();
}

TEST_P(ContainmentTest, a_root_that_is_renamed_stays_open_and_its_old_name_is_not_followed) {
  auto opened = store(options(GetParam()));
  ASSERT_EQ(::rename((top() + "/root").c_str(), (top() + "/moved").c_str()), 0);
  make_link("outside", top() + "/root");
  EXPECT_EQ(text_of(*opened, "a.txt"), "alpha");
  EXPECT_TRUE(opened->remove(path("folder/b.txt"), Effect::kApply));
  expect_canary_untouched();
}

TEST_P(ContainmentTest, magic_links_are_links) {
  auto resolver = PathResolver::open("/proc/self", GetParam()).value();
  for (std::string_view name :
       {"root/etc", "cwd", "root", "root/proc/self/root", "task/../root", "fd/0"}) {
    auto parsed = RelativePath::parse(name);
    if (!parsed) continue;
    auto opened = resolver.open_folder(*parsed);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().kind(), ErrorKind::kForbidden) << name;
  }
  auto self = resolver.open_folder(RelativePath::root()).value();
  for (std::string name : {"exe", "cwd", "root"}) {
    EXPECT_EQ(resolver.look_in(self.fd.get(), name).error().kind(), ErrorKind::kForbidden);
    EXPECT_EQ(resolver.open_file_in(self.fd.get(), name).error().kind(), ErrorKind::kForbidden);
  }
}

TEST_P(ContainmentTest, a_file_in_the_place_of_a_folder_is_not_found) {
  auto opened = store(options(GetParam()));
  auto answer = opened->read({.path = path("a.txt/b.txt")}, {});
  EXPECT_EQ(answer.error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(opened->list({.folder = path("a.txt")}, {}, {}).error().kind(), ErrorKind::kNotFound);
}

TEST_P(ContainmentTest, a_folder_is_not_a_file) {
  make_folder(root("trap.txt"));
  auto opened = store(options(GetParam()));
  EXPECT_EQ(opened->read({.path = path("trap.txt")}, {}).error().kind(), ErrorKind::kUnsupported);
  auto written = opened->write({path("trap.txt"), "x", WriteMode::kReplace}, {});
  EXPECT_EQ(written.error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(opened->remove(path("trap.txt"), Effect::kApply).error().kind(),
            ErrorKind::kUnsupported);
  EXPECT_TRUE(exists(root("trap.txt")));
}

TEST_P(ContainmentTest, stat_tells_nothing_of_names_with_other_extensions) {
  put_file(root("there.exe"), "x");
  auto opened = store(options(GetParam()));
  auto there = opened->stat(path("there.exe")).error();
  auto missing = opened->stat(path("missing.exe")).error();
  EXPECT_EQ(there.kind(), ErrorKind::kForbidden);
  EXPECT_EQ(missing.kind(), there.kind());
  EXPECT_EQ(missing.message(), there.message());
}

enum : int { kGood = 0, kBad = 1, kNoMounts = 77 };

// Runs in a child with mounts of its own. A bind mount shows the same device
// as the root, so it tells a check of mounts from a check of devices.
int try_mounts(const FilesFixture& files, MechanismChoice choice) {
  if (::unshare(CLONE_NEWNS) != 0) return kNoMounts;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kNoMounts;
  make_folder(files.root("bound"));
  make_folder(files.root("memory"));
  put_file(files.root("single.txt"), "");
  auto bind = [&](const std::string& from, const std::string& to) {
    return ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0;
  };
  if (!bind(files.outside(), files.root("bound")) ||
      !bind(files.outside("canary.txt"), files.root("single.txt")) ||
      ::mount("tmpfs", files.root("memory").c_str(), "tmpfs", 0, nullptr) != 0) {
    return kNoMounts;
  }
  put_file(files.root("memory/m.txt"), "memory");
  base::SystemRandom random;
  auto store = FileStore::open(files.options(choice), random).value();
  for (auto name : {"bound/canary.txt", "memory/m.txt", "single.txt"}) {
    auto read = store->read({.path = path(name)}, {});
    if (read || read.error().kind() != ErrorKind::kForbidden) return kBad;
    auto write = store->write({path(name), "x", WriteMode::kReplace}, {});
    if (write || write.error().kind() != ErrorKind::kForbidden) return kBad;
    if (store->remove(path(name), Effect::kApply)) return kBad;
    if (store->stat(path(name))) return kBad;
  }
  auto all = store->list({.recursion = Recursion::kYes}, {}, {});
  if (!all) return kBad;
  for (const auto& entry : all->entries) {
    for (std::string_view mount : {"bound", "memory", "single.txt"}) {
      if (entry.path.text().starts_with(mount)) return kBad;
    }
  }
  return kGood;
}

TEST_P(ContainmentTest, mounts_below_the_root_are_neither_entered_nor_shown) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(try_mounts(*this, GetParam()));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoMounts) {
    std::puts("this account may not mount: mounts were not tried");
  } else {
    EXPECT_EQ(WEXITSTATUS(status), kGood);
  }
  expect_canary_untouched();
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, ContainmentTest, testing::ValuesIn(mechanisms()),
                         mechanism_name);

}  // namespace
}  // namespace tool::files

#include "toolserver/connectors/files/fixture_test.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tool::files {
namespace {

const std::vector<std::string> kOutside = {"canary.txt", "a.txt", "b.txt", "folder/b.txt"};

std::uint64_t inode_of(const std::string& path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

}  // namespace

bool exists(const std::string& path) { return inode_of(path) != 0; }

void make_folder(const std::string& path) { std::filesystem::create_directories(path); }

void make_link(const std::string& target, const std::string& path) {
  ASSERT_EQ(::symlink(target.c_str(), path.c_str()), 0) << path;
}

std::vector<std::string> host_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<MechanismChoice> mechanisms() {
  std::vector<MechanismChoice> out = {MechanismChoice::kWalk};
  base::testing::TemporaryFolder folder;
  if (PathResolver::open(folder.path(), MechanismChoice::kOpenat2)) {
    out.push_back(MechanismChoice::kOpenat2);
  }
  return out;
}

std::string mechanism_name(const testing::TestParamInfo<MechanismChoice>& info) {
  return info.param == MechanismChoice::kWalk ? "walk" : "openat2";
}

FilesFixture::FilesFixture() {
  make_folder(root("folder/deep"));
  make_folder(outside("folder"));
  put_file(root("a.txt"), "alpha");
  put_file(root("folder/b.txt"), "beta");
  put_file(root("folder/deep/c.txt"), "gamma");
  for (const auto& name : kOutside) {
    put_file(outside(name), kCanary);
    inodes_.push_back(inode_of(outside(name)));
  }
}

std::string FilesFixture::root(const std::string& path) const { return top() + "/root/" + path; }
std::string FilesFixture::outside(const std::string& path) const {
  return top() + "/outside/" + path;
}

FilesOptions FilesFixture::options(MechanismChoice mechanism) const {
  FilesOptions out;
  out.root = top() + "/root";
  out.extensions = {"txt", "csv"};
  out.allow_write = Permission::kAllowed;
  out.allow_delete = Permission::kAllowed;
  out.mechanism = mechanism;
  return out;
}

std::unique_ptr<FileStore> FilesFixture::store(FilesOptions options) {
  auto opened = FileStore::open(std::move(options), random);
  if (!opened) ADD_FAILURE() << opened.error().message() << opened.error().detail();
  return opened ? std::move(*opened) : nullptr;
}

std::unique_ptr<FilesConnector> FilesFixture::connector(FilesOptions options) {
  auto opened = FilesConnector::open(std::move(options), pool, random);
  if (!opened) ADD_FAILURE() << opened.error().message() << opened.error().detail();
  return opened ? std::move(*opened) : nullptr;
}

void FilesFixture::expect_canary_untouched() const {
  for (std::size_t i = 0; i < kOutside.size(); ++i) {
    EXPECT_EQ(file_content(outside(kOutside[i])), kCanary) << kOutside[i];
    EXPECT_EQ(inode_of(outside(kOutside[i])), inodes_[i]) << kOutside[i];
  }
  EXPECT_EQ(host_names(outside()),
            (std::vector<std::string>{"a.txt", "b.txt", "canary.txt", "folder"}));
  EXPECT_EQ(host_names(outside("folder")), (std::vector<std::string>{"b.txt"}));
}

void plant_other_kinds(const FilesFixture& fixture) {
  std::string canary = fixture.outside("canary.txt");
  ASSERT_EQ(::link(canary.c_str(), fixture.root("hard.txt").c_str()), 0);
  ASSERT_EQ(::link(canary.c_str(), fixture.root("folder/hard.txt").c_str()), 0);
  put_file(fixture.root("twin.txt"), "twin");
  ASSERT_EQ(::link(fixture.root("twin.txt").c_str(), fixture.root("twin_too.txt").c_str()), 0);
  ASSERT_EQ(::mkfifo(fixture.root("pipe.txt").c_str(), 0600), 0);
  base::files::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct sockaddr_un address{.sun_family = AF_UNIX};
  fixture.root("socket.txt").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<struct sockaddr*>(&address), sizeof address), 0);
}

Invocation invocation(std::string_view tool, base::json::Object args) {
  return {.tool = ToolId::parse(tool).value(), .args = std::move(args)};
}

Outcome<ToolResult> call(FilesConnector& connector, std::string_view tool, base::json::Object args,
                         Progress progress) {
  boost::asio::io_context loop;
  std::optional<Outcome<ToolResult>> answer;
  auto approved = ApprovedForTest::make(invocation(tool, std::move(args)));
  auto run = [](FilesConnector* connector, Approved<Invocation> approved, Progress progress,
                std::optional<Outcome<ToolResult>>* answer) -> base::Task<void> {
    answer->emplace(co_await connector->invoke(std::move(approved), std::move(progress)));
  };
  boost::asio::co_spawn(loop, run(&connector, std::move(approved), std::move(progress), &answer),
                        boost::asio::detached);
  loop.run();
  if (!answer) return refuse(Code::kInternal, "the call did not end");
  return std::move(*answer);
}

RelativePath path(std::string_view text) {
  auto parsed = RelativePath::parse(text);
  if (!parsed) ADD_FAILURE() << text << ": " << parsed.error().message();
  return parsed ? std::move(*parsed) : RelativePath::root();
}

}  // namespace tool::files

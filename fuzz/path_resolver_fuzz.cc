// Any bytes as a path: what parse() takes keeps the rules, and what the
// resolver opens for it lies below the root, whatever links stand there. Both
// mechanisms give the same answer.

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/text.h"
#include "toolserver/connectors/files/path_resolver.h"

namespace {

using tool::files::MechanismChoice;
using tool::files::Opened;
using tool::files::PathResolver;
using tool::files::RelativePath;

void require(bool holds) {
  if (!holds) std::abort();
}

// A root with files and links to all sides, removed at the end.
class Tree {
 public:
  Tree() {
    namespace fs = std::filesystem;
    std::string pattern = (fs::temp_directory_path() / "path-fuzz-XXXXXX").string();
    require(::mkdtemp(pattern.data()) != nullptr);
    top_ = pattern;
    fs::create_directories(top_ / "root/folder/deep");
    fs::create_directories(top_ / "outside/deep");
    for (auto file :
         {"root/a", "root/folder/b", "root/folder/deep/c", "outside/a", "outside/deep/c"}) {
      std::ofstream(top_ / file) << file;
    }
    fs::create_hard_link(top_ / "outside/a", top_ / "root/hard");
    fs::create_symlink("../outside/a", top_ / "root/link");
    fs::create_directory_symlink("../outside", top_ / "root/out");
    fs::create_directory_symlink("/", top_ / "root/slash");
    fs::create_directory_symlink("/proc/self/root", top_ / "root/proc");
    fs::create_directory_symlink(".", top_ / "root/folder/self");
    fs::create_directory_symlink("../../../outside", top_ / "root/folder/deep/out");
    for (auto place : {"root", "root/a", "root/folder", "root/folder/b", "root/folder/deep",
                       "root/folder/deep/c"}) {
      struct stat found{};
      require(::lstat((top_ / place).c_str(), &found) == 0);
      inside_.insert(found.st_ino);
    }
  }
  ~Tree() { std::filesystem::remove_all(top_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  [[nodiscard]] std::string root() const { return (top_ / "root").string(); }
  [[nodiscard]] bool inside(std::uint64_t inode) const { return inside_.contains(inode); }

 private:
  std::filesystem::path top_;
  std::set<std::uint64_t> inside_;
};

void check_path(const RelativePath& path, std::string_view text) {
  require(path.text() == text && !path.is_root() && path.segments().size() <= 32);
  require(base::is_utf8(text) && text.size() <= 4096 && text.front() != '/');
  RelativePath folder = RelativePath::root();
  for (const auto& segment : path.segments()) {
    require(!segment.empty() && segment.size() <= 255 && segment != "." && segment != "..");
    require(segment.find_first_of(std::string_view("/\\\0\n\r\x7f", 6)) == segment.npos);
    auto child = folder.child(segment);
    require(child.has_value());
    folder = std::move(*child);
  }
  require(folder == path);
}

// The inode of the folder or file that `path` opens; nothing when refused.
std::optional<std::uint64_t> opened_inode(const PathResolver& resolver, const RelativePath& path) {
  if (auto folder = resolver.open_folder(path)) return folder->facts.inode;
  auto parent = resolver.open_folder(path.parent());
  if (!parent) return std::nullopt;
  auto seen = resolver.look_in(parent->fd.get(), path.leaf());
  auto file = resolver.open_file_in(parent->fd.get(), path.leaf());
  require(!file || (seen && seen->facts.inode == file->facts.inode));
  return file ? std::optional(file->facts.inode) : std::nullopt;
}

const Tree& tree() {
  static const Tree the_tree;
  return the_tree;
}

const std::vector<PathResolver>& resolvers() {
  static const std::vector<PathResolver> all = [] {
    std::vector<PathResolver> out;
    for (auto choice : {MechanismChoice::kWalk, MechanismChoice::kOpenat2}) {
      auto opened = PathResolver::open(tree().root(), choice);
      if (opened) out.push_back(std::move(*opened));
    }
    require(!out.empty());
    return out;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto path = RelativePath::parse(text);
  if (!path) return 0;
  check_path(*path, text);
  std::optional<std::uint64_t> first = opened_inode(resolvers().front(), *path);
  require(!first || tree().inside(*first));
  for (const auto& resolver : resolvers()) require(opened_inode(resolver, *path) == first);
  return 0;
}

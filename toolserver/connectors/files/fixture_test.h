#pragma once

// A root with a few files, and beside it a folder that no tool may touch: the
// canary. Every test ends with a look at the canary.

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/child_process.h"
#include "toolserver/connectors/approved_for_test.h"
#include "toolserver/connectors/files/file_store.h"
#include "toolserver/connectors/files/files_connector.h"

namespace tool::files {

inline constexpr std::string_view kCanary = "the canary sings outside";

inline void put_file(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

inline std::string file_content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

[[nodiscard]] bool exists(const std::string& path);  ///< A dangling link exists.
void make_folder(const std::string& path);
void make_link(const std::string& target, const std::string& path);
/// Names in a folder of the host, sorted.
[[nodiscard]] std::vector<std::string> host_names(const std::string& folder);

/// Those of the two that this kernel offers: the walk always.
[[nodiscard]] std::vector<MechanismChoice> mechanisms();
[[nodiscard]] std::string mechanism_name(const testing::TestParamInfo<MechanismChoice>& info);

class FilesFixture {
 public:
  /// root/ with a.txt, folder/b.txt, folder/deep/c.txt; outside/ with the
  /// canary as canary.txt, a.txt, b.txt and folder/b.txt.
  FilesFixture();

  [[nodiscard]] const std::string& top() const { return top_.path(); }
  [[nodiscard]] std::string root(const std::string& path = {}) const;
  [[nodiscard]] std::string outside(const std::string& path = {}) const;

  /// Everything allowed, on the walk or openat2.
  [[nodiscard]] FilesOptions options(MechanismChoice mechanism = MechanismChoice::kBest) const;
  [[nodiscard]] std::unique_ptr<FileStore> store(FilesOptions options);
  [[nodiscard]] std::unique_ptr<FilesConnector> connector(FilesOptions options);

  /// Fails the test unless all files outside are the same files, with the same
  /// content, and no more than them.
  void expect_canary_untouched() const;

  base::SystemRandom random;
  base::BlockingPool pool{2};

 private:
  base::testing::TemporaryFolder top_;
  std::vector<std::uint64_t> inodes_;
};

/// Into the root: a pipe, a socket, second names of the canary (hard.txt and
/// folder/hard.txt), and twin.txt with twin_too.txt, two names of one file.
void plant_other_kinds(const FilesFixture& fixture);

/// Runs one call to its end on a loop of its own.
[[nodiscard]] Outcome<ToolResult> call(FilesConnector& connector, std::string_view tool,
                                       base::json::Object args, Progress progress = {});
[[nodiscard]] Invocation invocation(std::string_view tool, base::json::Object args);

[[nodiscard]] RelativePath path(std::string_view text);

}  // namespace tool::files

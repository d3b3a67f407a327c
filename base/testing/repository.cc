#include "base/testing/repository.h"

#include <fmt/format.h>

#include <cstdlib>

namespace base::testing {

std::filesystem::path repository() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  for (auto folder = program.parent_path(); folder != folder.root_path();
       folder = folder.parent_path()) {
    if (exists(folder / "CMakePresets.json")) return folder;
  }
  fmt::print(stderr, "{} lies in no clone of the repository\n", program.string());
  std::abort();
}

}  // namespace base::testing

#include "lakeproxy/app/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace lake::app {

base::Result<ScratchFolder> ScratchFolder::create(const std::string& parent) {
  std::error_code error;
  std::filesystem::path base = parent.empty() ? std::filesystem::temp_directory_path(error)
                                              : std::filesystem::absolute(parent, error);
  if (error) {
    return base::fail(base::ErrorKind::kInvalid, "no scratch folder: " + error.message());
  }
  std::string name = (base / "lakeproxy-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return base::fail(base::ErrorKind::kInvalid, "LAKEPROXY_SCRATCH_DIR: cannot make a folder in " +
                                                     base.string() + ": " + std::strerror(errno));
  }
  return ScratchFolder(std::move(name));
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;  // What is left is in the temporary folder.
  std::filesystem::remove_all(path_, ignored);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

}  // namespace lake::app

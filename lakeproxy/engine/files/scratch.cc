#include "lakeproxy/engine/files/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace lake::exporter {

using base::ErrorKind;
using base::fail;

base::Result<ScratchFolder> ScratchFolder::make(const std::string& parent) {
  std::string path = parent + "/export-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return fail(ErrorKind::kInternal, "no scratch folder").with_detail(std::strerror(errno));
  }
  return ScratchFolder(std::move(path));
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  // Nobody is left to tell; the folder's name says whose it was.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::file(std::string_view name) const {
  return path_ + '/' + std::string(name);
}

base::Status append_file(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return fail(ErrorKind::kInternal, "a scratch file cannot be written");
  return {};
}

base::Status write_file_at(const std::string& path, std::uint64_t offset, std::string_view bytes) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  bool written = file >= 0;
  while (written && !bytes.empty()) {
    auto count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    written = count > 0;
    if (!written) break;
    offset += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  if (file >= 0 && ::close(file) != 0) written = false;
  if (!written) return fail(ErrorKind::kInternal, "a scratch file cannot be written");
  return {};
}

base::Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  auto size = std::filesystem::file_size(path, error);
  if (error) {
    return fail(ErrorKind::kInternal, "a scratch file cannot be read").with_detail(error.message());
  }
  std::string bytes(size, '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in.read(bytes.data(), static_cast<std::streamsize>(size))) {
    return fail(ErrorKind::kInternal, "a scratch file cannot be read");
  }
  return bytes;
}

}  // namespace lake::exporter

#pragma once

// A file on its way through the engine lies in a folder of its own, which is
// gone with all it holds whichever way the work ends.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace lake::exporter {

class ScratchFolder {
 public:
  /// A new private folder in `parent`.
  /// Errors: kInternal  it cannot be made; the detail has the system's reason.
  [[nodiscard]] static base::Result<ScratchFolder> make(const std::string& parent);
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;
  ~ScratchFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Where a file of that name lies or will lie.
  [[nodiscard]] std::string file(std::string_view name) const;

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // Empty when moved from.
};

/// Adds `bytes` to the end of the file, which is made when it is not there.
/// Errors: kInternal  not written (a full disk).
[[nodiscard]] base::Status append_file(const std::string& path, std::string_view bytes);

/// Writes `bytes` at `offset` of the file, which is made when it is not there
/// and has a hole where nothing was written.
/// Errors: kInternal  not written (a full disk).
[[nodiscard]] base::Status write_file_at(const std::string& path, std::uint64_t offset,
                                         std::string_view bytes);

/// The whole file. Errors: kInternal  not read.
[[nodiscard]] base::Result<std::string> read_file(const std::string& path);

}  // namespace lake::exporter

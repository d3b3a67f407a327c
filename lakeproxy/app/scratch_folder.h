#pragma once

#include <string>

#include "base/core/result.h"

namespace lake::app {

/// A private folder for the embedded engine, removed with everything in it at
/// the end. Movable, not copyable.
class ScratchFolder {
 public:
  /// Below `parent`, or below the system's temporary folder when it is empty.
  /// Errors: kInvalid  it cannot be made.
  [[nodiscard]] static base::Result<ScratchFolder> create(const std::string& parent);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace lake::app

#pragma once

// One file for each call with a key, named by the digest of the key: it is
// replaced whole, and removed when its time is over, so nothing that a tool
// answered lies about longer than it should. What a crash leaves half-written
// is under another name.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/files/private_file.h"
#include "toolserver/audit/segment.h"

namespace tool::outcomes {

using base::files::Durability;

/// Every call blocks. write() and remove() of different names may run side by side.
class OutcomeFolder {
 public:
  /// Makes the folder (0700) when it is not there, closes it to others, holds it
  /// for this process, and removes what was half-written.
  /// Errors: kConflict  another process holds it; kUnavailable  it cannot be used.
  [[nodiscard]] static base::Result<OutcomeFolder> open(const std::string& path,
                                                        Durability durability);

  struct File {
    std::string name;        ///< 64 hexadecimal digits.
    base::WallTime changed;  ///< As the file system says.
    std::string text;        ///< Empty where it is too large or cannot be read.
  };
  /// All files. Errors: kUnavailable  the folder cannot be read.
  [[nodiscard]] base::Result<std::vector<File>> read_all() const;

  /// All of `text` or nothing, mode 0600.
  /// Errors: kUnavailable  the system refuses; the detail says why.
  [[nodiscard]] base::Status write(const std::string& name, std::string_view text) const;
  /// Errors: kUnavailable  it is there and cannot be removed.
  [[nodiscard]] base::Status remove(const std::string& name) const;

 private:
  OutcomeFolder(std::string path, Durability durability, audit::FolderLock lock)
      : path_(std::move(path)), durability_(durability), lock_(std::move(lock)) {}
  [[nodiscard]] std::string file_of(const std::string& name) const {
    return path_ + "/" + name + ".json";
  }

  std::string path_;
  Durability durability_;
  audit::FolderLock lock_;
};

}  // namespace tool::outcomes

#pragma once

// What TOML and YAML have in common once they are read: texts and lists at
// paths of keys. Both readers fill this, so that one file says what a path is
// as a setting.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/sources.h"

namespace base::config {

/// Used by one reader for one file.
class TreeEntries {
 public:
  TreeEntries(std::string_view prefix, std::string_view file) : prefix_(prefix), file_(file) {}

  void add_text(const std::vector<std::string>& path, std::string text);
  /// An item that has a ',' in it is an error of the entry.
  void add_list(const std::vector<std::string>& path, const std::vector<std::string>& items);
  void add_empty(const std::vector<std::string>& path);
  /// A value of a form that no setting has.
  void refuse(const std::vector<std::string>& path, std::string_view rule);

  [[nodiscard]] Entries done() && { return std::move(out_); }

 private:
  Entry entry(const std::vector<std::string>& path) const;
  std::string prefix_;
  std::string file_;
  Entries out_;
};

}  // namespace base::config

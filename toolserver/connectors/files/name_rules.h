#pragma once

// Which names a tool may touch, decided from the name alone, before the file
// system is asked: so that a refusal does not tell whether the file exists.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "toolserver/connectors/files/files_options.h"
#include "toolserver/connectors/files/relative_path.h"

namespace tool::files {

/// The part of a name behind its last dot; empty when there is no dot, or only
/// one that starts the name (".profile" has no extension).
[[nodiscard]] std::string_view extension_of(std::string_view name);

/// A name for a file in the making. Reserved: no tool shows or takes it.
[[nodiscard]] std::string temporary_name(base::Random& random);
/// Whether temporary_name() could have made it.
[[nodiscard]] bool is_temporary_name(std::string_view name);

class NameRules {
 public:
  /// Errors: kInvalid  no extensions; one that is empty, over 32 bytes, or has
  ///                   a character other than letters, digits, '_' and '-'.
  [[nodiscard]] static base::Result<NameRules> make(const FilesOptions& options);

  /// Compares the extension byte by byte: "CSV" is not "csv".
  [[nodiscard]] bool allows_file(std::string_view name) const;
  /// Whether every segment may be named: not hidden, not reserved.
  [[nodiscard]] bool allows_segments(const RelativePath& path) const;
  [[nodiscard]] bool allows_segment(std::string_view name) const;

 private:
  NameRules(std::vector<std::string> extensions, Permission hidden)
      : extensions_(std::move(extensions)), hidden_(hidden) {}
  std::vector<std::string> extensions_;
  Permission hidden_;
};

}  // namespace tool::files

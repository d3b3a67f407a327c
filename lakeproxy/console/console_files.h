#pragma once

// The files of the governance console: a page, its styles and its scripts, as the build has put
// them into the binary. They hold no data and no rights: what the page shows it asks the REST API
// for, with its user's own token (ADR 0130).

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lake::console {

/// The page itself.
inline constexpr std::string_view kPage = "index.html";

struct ConsoleFile {
  std::string name;  ///< "console.js"
  std::string_view media_type;
  std::string etag;  ///< With its quotes; another for each content.
  std::shared_ptr<const std::string> text;
};

/// All of them. Never changes; safe from any thread.
class ConsoleFiles {
 public:
  ConsoleFiles();

  /// Null: there is none of that name.
  [[nodiscard]] const ConsoleFile* find(std::string_view name) const;
  [[nodiscard]] std::span<const ConsoleFile> all() const { return files_; }

 private:
  std::vector<ConsoleFile> files_;
};

}  // namespace lake::console

#pragma once

// A page for people, as files that the build has put into the binary: markup, a
// sheet, scripts, images. They are the same for everybody and hold no data; what a
// page shows it asks the server for, with its user's own token. So the files are
// public, and what a browser may do with them stands here once for every page.
// Source: docs/adr/0130; W3C Content Security Policy Level 3; Trusted Types.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/embedded_text.h"
#include "base/http/message.h"

namespace base::pages {

struct PageFile {
  std::string name;  ///< "console.js"
  std::string_view media_type;
  std::string etag;  ///< With its quotes; another for each content.
  std::shared_ptr<const std::string> text;
};

/// The files of one page, by what a browser takes them for.
struct PageTexts {
  std::span<const embedded::Text> pages;    ///< *.html
  std::span<const embedded::Text> styles;   ///< *.css
  std::span<const embedded::Text> scripts;  ///< *.js
  std::span<const embedded::Text> images;   ///< *.svg
};

/// Never changes; safe from any thread.
class PageFiles {
 public:
  explicit PageFiles(const PageTexts& texts);

  /// Null: there is none of that name.
  [[nodiscard]] const PageFile* find(std::string_view name) const;
  [[nodiscard]] std::span<const PageFile> all() const { return files_; }

 private:
  std::vector<PageFile> files_;
};

/// The file, or 304 to who has it. Nothing runs or loads but files of the same
/// server, nothing is sent to another one, no other page may frame this one, and no
/// text can become markup.
[[nodiscard]] http::Response answer(const http::Request& request, const PageFile& file);

}  // namespace base::pages

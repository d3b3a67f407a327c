#pragma once

// The files of the governance console: a page, its styles and its scripts, as the build has put
// them into the binary. They hold no data and no rights: what the page shows it asks the REST API
// for, with its user's own token (ADR 0130).

#include "base/pages/page_files.h"

namespace lake::console {

/// The page itself.
inline constexpr std::string_view kPage = "index.html";

using ConsoleFile = base::pages::PageFile;

/// All of them. Never changes; safe from any thread.
class ConsoleFiles : public base::pages::PageFiles {
 public:
  ConsoleFiles();
};

}  // namespace lake::console

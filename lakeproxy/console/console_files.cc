#include "lakeproxy/console/console_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/core/embedded_text.h"
#include "base/crypto/digest.h"

namespace base::embedded {
// By the build: index.html, *.css, *.js, *.svg.
std::span<const Text> console_pages();
std::span<const Text> console_styles();
std::span<const Text> console_scripts();
std::span<const Text> console_images();
}  // namespace base::embedded

namespace lake::console {
namespace {

using base::embedded::Text;

ConsoleFile file_of(const Text& text, std::string_view ending, std::string_view media_type) {
  const base::crypto::Digest digest = base::crypto::sha256(text.text);
  return {.name = fmt::format("{}.{}", text.name, ending),
          .media_type = media_type,
          .etag = fmt::format("\"{:02x}\"", fmt::join(digest, "")),
          .text = std::make_shared<const std::string>(text.text)};
}

}  // namespace

ConsoleFiles::ConsoleFiles() {
  auto add = [&](std::span<const Text> texts, std::string_view ending, std::string_view type) {
    for (const Text& text : texts) files_.push_back(file_of(text, ending, type));
  };
  add(base::embedded::console_pages(), "html", "text/html; charset=utf-8");
  add(base::embedded::console_styles(), "css", "text/css; charset=utf-8");
  add(base::embedded::console_scripts(), "js", "text/javascript; charset=utf-8");
  add(base::embedded::console_images(), "svg", "image/svg+xml");
}

const ConsoleFile* ConsoleFiles::find(std::string_view name) const {
  const auto found = std::ranges::find(files_, name, &ConsoleFile::name);
  return found == files_.end() ? nullptr : &*found;
}

}  // namespace lake::console

#include "base/pages/page_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/crypto/digest.h"

namespace base::pages {
namespace {

constexpr std::string_view kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

PageFile file_of(const embedded::Text& text, std::string_view ending, std::string_view media_type) {
  const crypto::Digest digest = crypto::sha256(text.text);
  return {.name = fmt::format("{}.{}", text.name, ending),
          .media_type = media_type,
          .etag = fmt::format("\"{:02x}\"", fmt::join(digest, "")),
          .text = std::make_shared<const std::string>(text.text)};
}

// RFC 9110, section 13.1.2: a list of tags, or "*".
bool is_known(const http::Request& request, std::string_view etag) {
  const auto header = request.headers.get("If-None-Match");
  return header && (*header == "*" || header->contains(etag));
}

}  // namespace

PageFiles::PageFiles(const PageTexts& texts) {
  auto add = [&](std::span<const embedded::Text> all, std::string_view ending,
                 std::string_view type) {
    for (const embedded::Text& text : all) files_.push_back(file_of(text, ending, type));
  };
  add(texts.pages, "html", "text/html; charset=utf-8");
  add(texts.styles, "css", "text/css; charset=utf-8");
  add(texts.scripts, "js", "text/javascript; charset=utf-8");
  add(texts.images, "svg", "image/svg+xml");
}

const PageFile* PageFiles::find(std::string_view name) const {
  const auto found = std::ranges::find(files_, name, &PageFile::name);
  return found == files_.end() ? nullptr : &*found;
}

http::Response answer(const http::Request& request, const PageFile& file) {
  http::Response response;
  response.headers.add("Content-Security-Policy", std::string(kContentPolicy));
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.headers.add("Referrer-Policy", "no-referrer");
  response.headers.add("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.add("ETag", file.etag);
  // A server that was replaced by another version shows its own page.
  response.headers.add("Cache-Control", "no-cache");
  if (is_known(request, file.etag)) {
    response.status = 304;
    return response;
  }
  response.headers.add("Content-Type", std::string(file.media_type));
  response.body = http::Body(file.text);
  return response;
}

}  // namespace base::pages

// GET and HEAD /ui: the governance console. Its files are the same for everybody, so they are
// public; whoever opens the page sees what their token lets them ask the other routes for.

#include "lakeproxy/console/console_files.h"
#include "lakeproxy/http/actions.h"

namespace lake::http {
namespace {

// Nothing runs or loads but these files, nothing is sent to another server, no other page may
// frame this one, and no text can become HTML, whoever wrote it into a table's name.
// Source: W3C Content Security Policy Level 3; Trusted Types.
constexpr std::string_view kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

// RFC 9110, section 13.1.2: a list of tags, or "*".
bool is_known(const base::http::Request& request, std::string_view etag) {
  const auto header = request.headers.get("If-None-Match");
  return header && (*header == "*" || header->contains(etag));
}

base::http::Response answer_of(const base::http::Request& request,
                               const console::ConsoleFile& file) {
  base::http::Response response;
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
  response.body = base::http::Body(file.text);
  return response;
}

}  // namespace

base::Result<AskConsole> console_page_of(const Call&) {
  return AskConsole{std::string(console::kPage)};
}

base::Result<AskConsole> console_file_of(const Call& call) {
  return AskConsole{call.parameter("file")};
}

ActionResult get_console(RequestContext, Call* call, Authorized<AskConsole> request) {
  const console::ConsoleFiles* files = call->services->console;
  const console::ConsoleFile* file = files == nullptr ? nullptr : files->find(request->file);
  if (file == nullptr) co_return refusal(404, "No such path.");
  co_return answer_of(*call->request, *file);
}

}  // namespace lake::http

// GET and HEAD /ui: the governance console. Its files are the same for everybody, so they are
// public; whoever opens the page sees what their token lets them ask the other routes for.

#include "base/pages/page_files.h"
#include "lakeproxy/console/console_files.h"
#include "lakeproxy/http/actions.h"

namespace lake::http {

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
  co_return base::pages::answer(*call->request, *file);
}

}  // namespace lake::http

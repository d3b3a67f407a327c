#include "lakeproxy/publish/view_file.h"

#include <fmt/format.h>

#include "lakeproxy/materialize/snapshot/content_hash.h"
#include "lakeproxy/model/view/view_json.h"

namespace lake::publish {
namespace {

// What base::json::parse reads again.
constexpr std::size_t kMaxBytes = base::json::Limits{}.bytes;

}  // namespace

base::Result<materialize::NewObject> view_file(const model::ViewMetadata& view) {
  std::string document = base::json::write(model::to_json(view));
  if (document.size() > kMaxBytes) {
    return base::fail(base::ErrorKind::kTooLarge,
                      fmt::format("the view's metadata must have at most {} bytes", kMaxBytes));
  }
  std::string location = fmt::format("{}/metadata/{:05}-{}.metadata.json", view.location,
                                     view.current_version_id, materialize::content_hash(document));
  return materialize::NewObject{std::move(location), std::move(document)};
}

}  // namespace lake::publish

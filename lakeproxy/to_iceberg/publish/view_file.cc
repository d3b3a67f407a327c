#include "lakeproxy/to_iceberg/publish/view_file.h"

#include <fmt/format.h>

#include "lakeproxy/derive/plan/content_hash.h"
#include "lakeproxy/iceberg/view/view_json.h"

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
  std::string sha256 = materialize::content_sha256(document);
  std::string location = fmt::format("{}/metadata/{:05}-{}.metadata.json", view.location,
                                     view.current_version_id, materialize::hash_in_name(sha256));
  return materialize::NewObject{std::move(location), std::move(document), std::move(sha256)};
}

}  // namespace lake::publish

#include "lakeproxy/route/table_answer.h"

#include <fmt/format.h>

#include "lakeproxy/publish/table_at.h"
#include "lakeproxy/route/wire.h"

namespace lake::route {
namespace {

using Snapshots = model::SnapshotSelection;

// The forms of one table are so many representations.
std::string etag_of(const publish::TableView& view, Snapshots snapshots,
                    std::optional<model::SnapshotId> at = std::nullopt) {
  return fmt::format("\"{}{}{}\"", view.etag, at ? fmt::format("-at-{}", at->value) : "",
                     snapshots == Snapshots::kRefs ? "-refs" : "");
}

bool matches(const base::http::Request& request, const std::string& etag) {
  auto header = request.headers.get("If-None-Match");
  return header && (*header == "*" || header->find(etag) != std::string_view::npos);
}

base::http::Response not_modified(std::string etag) {
  base::http::Response response;
  response.status = 304;
  response.headers.add("ETag", std::move(etag));
  return response;
}

}  // namespace

base::Result<Snapshots> snapshots_of(const Call& call) {
  auto text = call.request->query("snapshots");
  if (!text || *text == "all") return Snapshots::kAll;
  if (*text == "refs") return Snapshots::kRefs;
  return base::fail(base::ErrorKind::kInvalid, "snapshots: must be all or refs");
}

base::http::Response view_response(const publish::TableView& view, Snapshots snapshots) {
  auto response = json_response(
      200, base::http::Body(snapshots == Snapshots::kRefs ? view.body_refs : view.body));
  response.headers.add("ETag", etag_of(view, snapshots));
  return response;
}

base::http::Response answer_load(const Call& call, const publish::TableView& view,
                                 Snapshots snapshots) {
  std::string etag = etag_of(view, snapshots);
  if (matches(*call.request, etag)) return not_modified(std::move(etag));
  return view_response(view, snapshots);
}

base::http::Response answer_load_at(const Call& call, const operation::TableAt& table,
                                    Snapshots snapshots) {
  std::string etag = etag_of(*table.view, snapshots, table.snapshot_id);
  if (matches(*call.request, etag)) return not_modified(std::move(etag));
  auto response = json_response(
      200, base::http::Body(publish::body_at(*table.view, table.snapshot_id, snapshots,
                                             call.catalog()->client_config)));
  response.headers.add("ETag", std::move(etag));
  return response;
}

ActionResult tell_table(base::RequestContext context, Call call,
                        model::TableIdentifier identifier) {
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadTable{std::move(identifier)}));
  CO_ASSIGN_OR_RETURN(auto view,
                      co_await operation::load_table(context, call.catalog(), std::move(request)));
  co_return view_response(*view, Snapshots::kAll);
}

}  // namespace lake::route

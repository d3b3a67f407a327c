#include <fmt/format.h>

#include "base/json/fields.h"
#include "lakeproxy/model/table_update_json.h"
#include "lakeproxy/operation/tables.h"
#include "lakeproxy/route/actions.h"
#include "lakeproxy/route/wire.h"

namespace lake::route {
namespace {

namespace json = base::json;

enum class Snapshots { kAll, kRefs };

base::Result<Snapshots> snapshots_of(const Call& call) {
  auto text = call.request->query("snapshots");
  if (!text || *text == "all") return Snapshots::kAll;
  if (*text == "refs") return Snapshots::kRefs;
  return base::fail(base::ErrorKind::kInvalid, "snapshots: must be all or refs");
}

// The two forms of one table are two representations.
std::string etag_of(const publish::TableView& view, Snapshots snapshots) {
  return fmt::format("\"{}{}\"", view.etag, snapshots == Snapshots::kRefs ? "-refs" : "");
}

base::http::Response view_response(const publish::TableView& view, Snapshots snapshots) {
  auto response = json_response(
      200, base::http::Body(snapshots == Snapshots::kRefs ? view.body_refs : view.body));
  response.headers.add("ETag", etag_of(view, snapshots));
  return response;
}

// Source: RFC 9110, section 13.1.2.
bool matches(const base::http::Request& request, const std::string& etag) {
  auto header = request.headers.get("If-None-Match");
  return header && (*header == "*" || header->find(etag) != std::string_view::npos);
}

base::Result<operation::RenameTable> parse_rename(const json::Value& body) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(body, "body"));
  ASSIGN_OR_RETURN(auto source, fields.object("source"));
  ASSIGN_OR_RETURN(auto destination, fields.object("destination"));
  operation::RenameTable rename;
  ASSIGN_OR_RETURN(rename.from, model::table_identifier_from_json(source));
  ASSIGN_OR_RETURN(rename.to, model::table_identifier_from_json(destination));
  return rename;
}

}  // namespace

ActionResult list_tables(base::RequestContext context, Call call) {
  operation::ListTables list;
  CO_ASSIGN_OR_RETURN(list.name_space, namespace_of(call));
  CO_ASSIGN_OR_RETURN(list.paging, paging_of(call));
  auto name_space = to_json(list.name_space);
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(list)));
  CO_ASSIGN_OR_RETURN(auto page,
                      co_await operation::list_tables(context, call.catalog(), std::move(request)));
  json::Array identifiers;
  for (const auto& table : page.items) {
    identifiers.push_back(json::Object{{"namespace", name_space}, {"name", table.name}});
  }
  json::Object body{{"identifiers", std::move(identifiers)}};
  body["next-page-token"] = page_token(page.next);
  co_return json_response(200, json::Value(std::move(body)));
}

ActionResult create_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto table, model::create_table_from_json(body));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::CreateTableIn{std::move(name_space),
                                                                              std::move(table)}));
  CO_ASSIGN_OR_RETURN(
      auto created, co_await operation::create_table(context, call.catalog(), std::move(request)));
  if (created.staged_body) {
    co_return json_response(200, base::http::Body(std::move(*created.staged_body)));
  }
  co_return view_response(*created.view, Snapshots::kAll);
}

ActionResult load_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(auto snapshots, snapshots_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadTable{std::move(identifier)}));
  CO_ASSIGN_OR_RETURN(auto view,
                      co_await operation::load_table(context, call.catalog(), std::move(request)));
  std::string etag = etag_of(*view, snapshots);
  if (matches(*call.request, etag)) {
    base::http::Response response;
    response.status = 304;
    response.headers.add("ETag", std::move(etag));
    co_return response;
  }
  co_return view_response(*view, snapshots);
}

ActionResult table_exists(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadTable{std::move(identifier)}));
  CO_RETURN_IF_ERROR(co_await operation::load_table(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult commit_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto commit, model::table_commit_from_json(body));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::CommitTable{std::move(identifier),
                                                                            std::move(commit)}));
  CO_ASSIGN_OR_RETURN(
      auto view, co_await operation::commit_table(context, call.catalog(), std::move(request)));
  co_return view_response(*view, Snapshots::kAll);
}

ActionResult drop_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(bool purge, flag_of(call, "purgeRequested", false));
  operation::DropTable drop{std::move(identifier),
                            purge ? operation::Purge::kYes : operation::Purge::kNo};
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(drop)));
  CO_RETURN_IF_ERROR(co_await operation::drop_table(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult rename_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto rename, parse_rename(body));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(rename)));
  CO_RETURN_IF_ERROR(co_await operation::rename_table(context, call.catalog(), std::move(request)));
  co_return no_content();
}

// Clients report what their scans and commits cost. A line in the log keeps it.
ActionResult report_metrics(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto fields, json::Fields::of(body, "body"));
  CO_ASSIGN_OR_RETURN(auto type, fields.string("report-type"));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadTable{identifier}));
  call.catalog()
      ->log->for_request(context.request_id)
      .info("metrics report", {{"report", type}, {"table", request->identifier.display()}});
  co_return no_content();
}

}  // namespace lake::route

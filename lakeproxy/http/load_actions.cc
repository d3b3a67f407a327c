#include "base/core/text.h"
#include "base/json/fields.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/table_answer.h"
#include "lakeproxy/http/wire.h"
#include "lakeproxy/operation/tables.h"

namespace lake::http {
namespace {

namespace json = base::json;

base::Result<std::optional<model::SnapshotId>> snapshot_id_of(const Call& call) {
  auto text = call.request->query("snapshot-id");
  if (!text) return std::nullopt;
  auto id = base::parse_int64(*text);
  if (!id) {
    return base::fail(base::ErrorKind::kInvalid, "snapshot-id: must be a number of 64 bits");
  }
  return model::SnapshotId(*id);
}

}  // namespace

ActionResult load_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(auto snapshots, snapshots_of(call));
  CO_ASSIGN_OR_RETURN(auto at, snapshot_id_of(call));
  if (at) {
    operation::LoadTableAt load{std::move(identifier), *at};
    CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(load)));
    CO_ASSIGN_OR_RETURN(
        auto table, co_await operation::load_table_at(context, call.catalog(), std::move(request)));
    co_return answer_load_at(call, table, snapshots);
  }
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadTable{std::move(identifier)}));
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await operation::load_table(context, call.catalog(), std::move(request)));
  if (auto ready = ready_answer(call, *loaded, snapshots)) co_return std::move(*ready);
  CO_ASSIGN_OR_RETURN(identifier, table_of(call));
  co_return co_await packed_answer(context, std::move(call), std::move(identifier),
                                   std::move(loaded), snapshots);
}

ActionResult table_exists(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadTable{std::move(identifier)}));
  CO_RETURN_IF_ERROR(co_await operation::load_table(context, call.catalog(), std::move(request)));
  co_return no_content();
}

ActionResult created_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto name_space, namespace_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto fields, json::Fields::of(body, ""));
  CO_ASSIGN_OR_RETURN(auto name, fields.string("name"));
  co_return co_await tell_table(context, std::move(call), {std::move(name_space), std::move(name)});
}

ActionResult committed_table(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  co_return co_await tell_table(context, std::move(call), std::move(identifier));
}

ActionResult report_metrics(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(auto body, body_of(call));
  CO_ASSIGN_OR_RETURN(auto report, model::metrics_report_from_json(body));
  operation::ReportMetrics report_of{std::move(identifier), std::move(report)};
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, std::move(report_of)));
  CO_RETURN_IF_ERROR(
      co_await operation::report_metrics(context, call.catalog(), std::move(request)));
  co_return no_content();
}

// One credential for the table's own prefix, or none where clients have keys of
// their own. Parameters that choose among credentials have nothing to choose.
ActionResult load_credentials(base::RequestContext context, Call call) {
  CO_ASSIGN_OR_RETURN(auto identifier, table_of(call));
  CO_ASSIGN_OR_RETURN(auto request, authorized(call, operation::LoadTable{std::move(identifier)}));
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await operation::load_table(context, call.catalog(), std::move(request)));
  std::string body = R"({"storage-credentials":[)";
  const std::string& config = call.catalog()->client_credentials;
  if (!config.empty()) {
    body += R"({"prefix":)";
    json::append_quoted(body, loaded->metadata.location + "/");
    body += R"(,"config":)" + config + "}";
  }
  auto response = json_response(200, base::http::Body(body + "]}"));
  response.headers.add("Cache-Control", "no-store");
  co_return response;
}

}  // namespace lake::http

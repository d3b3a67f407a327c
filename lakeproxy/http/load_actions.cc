#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/table_answer.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {

namespace json = base::json;

namespace {

base::Result<std::optional<model::SnapshotId>> snapshot_id_of(const Call& call) {
  auto text = call.request->query("snapshot-id");
  if (!text) return std::nullopt;
  auto id = base::parse_int64(*text);
  if (!id) {
    return base::fail(base::ErrorKind::kInvalid, "snapshot-id: must be a number of 64 bits");
  }
  return model::SnapshotId(*id);
}

// What stands in the trail of a load that policies had to do with; nothing of others.
std::optional<audit::AuditRecord> record_of(const Call& call, const operation::LoadTable& load,
                                            const operation::SeenTable& seen,
                                            std::string_view operation) {
  const auto& mask = seen.is_shadow() ? seen.file_mask : seen.told_mask;
  if (mask == nullptr && seen.lifted.empty() && seen.unmasked_because.empty()) return std::nullopt;
  auto record =
      audit::record_of(call.principal, std::string(operation), policy::display(targets(load)),
                       mask == nullptr ? "unmasked" : "masked");
  json::Object detail;
  if (mask != nullptr) {
    record.masked_cols = policy::masked_columns_of(*mask);
    record.applied_policies = policy::policies_of(*mask);
    detail["tier"] = seen.is_shadow() ? "files" : "cooperative";
    detail["signature"] = mask->signature;
  }
  if (!seen.lifted.empty()) detail["lifted"] = json::Array(seen.lifted.begin(), seen.lifted.end());
  if (!seen.unmasked_because.empty()) {
    record.decision = "failed_open";
    detail["unmasked_because"] = seen.unmasked_because;
    call.catalog()->log->warning("a table is shown unmasked: its policies cannot be told",
                                 {{"table", load.identifier.display()},
                                  {"user", call.principal.subject},
                                  {"because", seen.unmasked_because},
                                  {"setting", "LAKEPROXY_GOVERNANCE_FAIL_CLOSED"}});
  }
  record.detail = json::write(detail);
  return record;
}

}  // namespace

base::Error not_loaded(Call& call, const operation::LoadTable& load, base::Error error,
                       std::string_view operation) {
  if (error.reason() == operation::kGovernanceFailed) {
    call.refused = audit::record_of(call.principal, std::string(operation),
                                    policy::display(targets(load)), "failed_closed");
  }
  return error;
}

base::Task<base::Status> audit_load(RequestContext context, Call* call, operation::LoadTable load,
                                    const operation::SeenTable* seen, std::string_view operation) {
  auto* trail = call->catalog()->audit;
  if (trail == nullptr) co_return base::Status{};
  auto record = record_of(*call, load, *seen, operation);
  if (!record) co_return base::Status{};
  co_return co_await trail->write_read(context, std::move(*record));
}

base::Result<operation::LoadTable> load_table_of(const Call& call) {
  operation::LoadTable load;
  ASSIGN_OR_RETURN(load.identifier, table_of(call));
  ASSIGN_OR_RETURN(load.snapshots, snapshots_of(call));
  ASSIGN_OR_RETURN(load.snapshot_id, snapshot_id_of(call));
  return load;
}

ActionResult load_table(RequestContext context, Call* call,
                        Authorized<operation::LoadTable> request) {
  if (request->snapshot_id) {
    auto at = co_await operation::load_table_at(context, call->catalog(), request);
    if (!at) co_return not_loaded(*call, *request, std::move(at).error());
    CO_RETURN_IF_ERROR(co_await audit_load(context, call, *request, &at->table.seen()));
    CO_RETURN_IF_ERROR(co_await delegate(context, call, request->identifier, &at->table,
                                         delegation::Occasion::kLoad));
    co_return answer_load_at(*call, *at, request->snapshots);
  }
  auto loaded = co_await operation::load_table(context, call->catalog(), request);
  if (!loaded) co_return not_loaded(*call, *request, std::move(loaded).error());
  operation::ShownTable table = std::move(*loaded);
  CO_RETURN_IF_ERROR(co_await audit_load(context, call, *request, &table.seen()));
  CO_RETURN_IF_ERROR(
      co_await delegate(context, call, request->identifier, &table, delegation::Occasion::kLoad));
  if (auto ready = ready_answer(*call, table, request->snapshots)) co_return std::move(*ready);
  co_return co_await packed_answer(context, call, request->identifier, std::move(table),
                                   request->snapshots);
}

base::Result<operation::LoadTable> named_table_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, table_of(call));
  return operation::LoadTable{std::move(identifier)};
}

ActionResult table_exists(RequestContext context, Call* call,
                          Authorized<operation::LoadTable> request) {
  CO_RETURN_IF_ERROR(
      co_await operation::table_exists(context, call->catalog(), std::move(request)));
  co_return no_content();
}

base::Result<operation::ReportMetrics> report_metrics_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, table_of(call));
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto report, model::metrics_report_from_json(body));
  return operation::ReportMetrics{std::move(identifier), std::move(report)};
}

ActionResult report_metrics(RequestContext context, Call* call,
                            Authorized<operation::ReportMetrics> request) {
  CO_RETURN_IF_ERROR(
      co_await operation::report_metrics(context, call->catalog(), std::move(request)));
  co_return no_content();
}

// The caller's own keys to the table; where there is no STS, what every client is given. Parameters
// that choose among credentials have nothing to choose.
ActionResult load_credentials(RequestContext context, Call* call,
                              Authorized<operation::LoadTable> request) {
  auto loaded = co_await operation::load_table(context, call->catalog(), request);
  if (!loaded) co_return not_loaded(*call, *request, std::move(loaded).error());
  const operation::ShownTable table = std::move(*loaded);
  CO_RETURN_IF_ERROR(co_await audit_load(context, call, *request, &table.seen()));
  delegation::ClientAccessPtr access;
  if (auto* delegation = call->catalog()->delegation) {
    const delegation::Asked asked{.vended_credentials = true};
    CO_ASSIGN_OR_RETURN(
        access, co_await delegation->for_client(context, call->catalog(), request.principal(),
                                                {request->identifier, table.seen()}, asked,
                                                delegation::Occasion::kLoad));
  }
  const std::string& config = call->catalog()->client_credentials;
  std::string list = "[]";
  if (access != nullptr) {
    list = access->credentials;
  } else if (!config.empty()) {
    list = R"([{"prefix":)";
    base::json::append_quoted(list, table.location() + "/");
    list += R"(,"config":)" + config + "}]";
  }
  auto response = json_response(200, base::http::Body(R"({"storage-credentials":)" + list + "}"));
  response.headers.add("Cache-Control", "no-store");
  co_return response;
}

}  // namespace lake::http

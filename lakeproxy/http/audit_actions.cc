// GET /v1/{prefix}/governance/audit: who was allowed or refused what, the newest first.

#include "base/core/text.h"
#include "lakeproxy/governance/governance_store.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

constexpr std::int64_t kMostEntries = 1000;

base::Result<std::optional<std::int64_t>> number_of(const Call& call, std::string_view name,
                                                    std::int64_t most) {
  const auto text = call.request->query(name);
  if (!text) return std::optional<std::int64_t>();
  const auto number = base::parse_int64(*text);
  if (!number || *number < 1 || *number > most) {
    return base::fail(base::ErrorKind::kInvalid,
                      fmt::format("{}: must be a number from 1 to {}", name, most));
  }
  return number;
}

}  // namespace

base::Result<ListAudit> list_audit_of(const Call& call) {
  ListAudit asked;
  ASSIGN_OR_RETURN(const auto limit, number_of(call, "limit", kMostEntries));
  if (limit) asked.filter.limit = *limit;
  ASSIGN_OR_RETURN(asked.filter.before,
                   number_of(call, "before", std::numeric_limits<std::int64_t>::max()));
  asked.filter.principal = call.request->query("principal").value_or("");
  asked.filter.operation = call.request->query("operation").value_or("");
  asked.filter.object = call.request->query("object").value_or("");
  return asked;
}

ActionResult list_audit(RequestContext context, Call* call, Authorized<ListAudit> request) {
  // What DuckDB's renames and drops did is in the trail before it is told.
  CO_RETURN_IF_ERROR(co_await call->catalog()->governance->audit_events(context));
  CO_ASSIGN_OR_RETURN(auto entries,
                      co_await call->catalog()->audit_log->list(context, request->filter));
  co_return json_response(200,
                          base::json::Value(base::json::Object{{"entries", std::move(entries)}}));
}

}  // namespace lake::http

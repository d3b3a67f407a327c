#include "base/json/fields.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/table_answer.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

// A filter's levels, and what stands around and below them.
constexpr std::size_t kBodyDepth = scan::kMostDepth + 10;
// What a plan is in the audit trail: it names the files of a read.
constexpr std::string_view kPlanned = "plan_table_scan";

base::http::Response planned_response(const operation::PlannedScan& planned) {
  std::string body = R"({"status":"completed","plan-id":)";
  base::json::append_quoted(body, planned.plan_id);
  if (!planned.plan_tasks.empty()) {
    body += R"(,"plan-tasks":[)";
    for (const std::string& task : planned.plan_tasks) {
      if (!body.ends_with('[')) body += ',';
      base::json::append_quoted(body, task);
    }
    body += ']';
  }
  body += ',';
  body += planned.tasks;
  return json_response(200, base::http::Body(std::move(body) + "}"));
}

}  // namespace

base::Result<operation::PlanTableScan> plan_table_scan_of(const Call& call) {
  operation::PlanTableScan plan;
  ASSIGN_OR_RETURN(plan.identifier, table_of(call));
  ASSIGN_OR_RETURN(auto body, body_of(call, kBodyDepth));
  ASSIGN_OR_RETURN(auto scan, scan::scan_request_from_json(body));
  plan.scan = std::make_shared<const scan::ScanRequest>(std::move(scan));
  return plan;
}

ActionResult plan_table_scan(RequestContext context, Call* call,
                             Authorized<operation::PlanTableScan> request) {
  const operation::LoadTable read{request->identifier};
  auto planned = co_await operation::plan_table_scan(context, call->catalog(), std::move(request));
  if (!planned) co_return not_loaded(*call, read, std::move(planned).error(), kPlanned);
  CO_RETURN_IF_ERROR(co_await audit_load(context, call, read, &planned->seen, kPlanned));
  co_return planned_response(*planned);
}

base::Result<operation::NamedPlan> named_plan_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, table_of(call));
  return operation::NamedPlan{std::move(identifier), call.parameter("plan-id")};
}

ActionResult fetch_plan(RequestContext context, Call* call,
                        Authorized<operation::NamedPlan> request) {
  CO_ASSIGN_OR_RETURN(auto planned,
                      co_await operation::fetch_plan(context, call->catalog(), std::move(request)));
  co_return planned_response(planned);
}

ActionResult cancel_plan(RequestContext context, Call* call,
                         Authorized<operation::NamedPlan> request) {
  CO_RETURN_IF_ERROR(co_await operation::cancel_plan(context, call->catalog(), std::move(request)));
  co_return no_content();
}

base::Result<operation::FetchScanTasks> fetch_scan_tasks_of(const Call& call) {
  ASSIGN_OR_RETURN(auto identifier, table_of(call));
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto fields, base::json::Fields::of(body, ""));
  ASSIGN_OR_RETURN(auto task, fields.string("plan-task"));
  return operation::FetchScanTasks{std::move(identifier), std::move(task)};
}

ActionResult fetch_scan_tasks(RequestContext context, Call* call,
                              Authorized<operation::FetchScanTasks> request) {
  CO_ASSIGN_OR_RETURN(auto tasks, co_await operation::fetch_scan_tasks(context, call->catalog(),
                                                                       std::move(request)));
  co_return json_response(200, base::http::Body("{" + tasks + "}"));
}

}  // namespace lake::http

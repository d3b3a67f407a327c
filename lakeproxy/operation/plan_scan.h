#pragma once

// The operations of scan planning: a client asks which files it has to read, and fetches a large
// answer in parts.
// Errors besides those named: as in tables.h.
// Source: Iceberg REST description, "/v1/{prefix}/namespaces/{namespace}/tables/{table}/plan" and
// ".../tasks".

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lakeproxy/iceberg/scan/scan_request.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/operation/see_table.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

// Reasons of kNotFound. A plan of somebody else, or of another table, is none.
inline constexpr std::string_view kNoSuchPlan = "no_such_plan";
inline constexpr std::string_view kNoSuchPlanTask = "no_such_plan_task";

struct PlanTableScan {
  model::TableIdentifier identifier;
  std::shared_ptr<const scan::ScanRequest> scan;
};
[[nodiscard]] inline policy::Targets targets(const PlanTableScan& request) {
  return {policy::Target::table(request.identifier)};
}
/// A plan, with what it tells first.
struct PlannedScan {
  std::string plan_id;
  std::string tasks;                    ///< "delete-files" and "file-scan-tasks", as JSON members.
  std::vector<std::string> plan_tasks;  ///< What is to be fetched besides; opaque.
  SeenTable seen;  ///< What a new plan is of; of one that is told again nothing.
};
/// Errors: kInvalid  the table has not that snapshot, or a name or a value does not fit it;
///         kRateLimited  too many plans are kept; kUnsupported  an older snapshot of a table whose
///         files are masked for the caller.
[[nodiscard]] base::Task<base::Result<PlannedScan>> plan_table_scan(
    base::RequestContext context, Catalog* catalog, policy::Authorized<PlanTableScan> request);

struct NamedPlan {
  model::TableIdentifier identifier;
  std::string plan_id;
};
[[nodiscard]] inline policy::Targets targets(const NamedPlan& request) {
  return {policy::Target::table(request.identifier)};
}
/// The same answer once more. Errors: kNotFound (kNoSuchPlan).
[[nodiscard]] base::Task<base::Result<PlannedScan>> fetch_plan(
    base::RequestContext context, Catalog* catalog, policy::Authorized<NamedPlan> request);
/// Forgets the plan. Errors: kNotFound (kNoSuchPlan).
[[nodiscard]] base::Task<base::Status> cancel_plan(base::RequestContext context, Catalog* catalog,
                                                   policy::Authorized<NamedPlan> request);

struct FetchScanTasks {
  model::TableIdentifier identifier;
  std::string plan_task;
};
[[nodiscard]] inline policy::Targets targets(const FetchScanTasks& request) {
  return {policy::Target::table(request.identifier)};
}
/// As PlannedScan::tasks. Errors: kNotFound (kNoSuchPlanTask).
[[nodiscard]] base::Task<base::Result<std::string>> fetch_scan_tasks(
    base::RequestContext context, Catalog* catalog, policy::Authorized<FetchScanTasks> request);

}  // namespace lake::operation

#include "lakeproxy/operation/plan_scan.h"

#include "lakeproxy/planning/scan_plan.h"
#include "lakeproxy/planning/scan_plans.h"
#include "lakeproxy/to_iceberg/publish/table_at.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using planning::ScanPlanPtr;

// A subject is unique with its issuer alone, and neither holds a line's end. A plan belongs to what
// its caller saw when it was made: one of other masks is not found.
std::string owner_of(const auth::Principal& principal, const SeenTable& seen) {
  std::string owner = principal.issuer + "\n" + principal.subject + "\n" + principal.actor;
  if (seen.is_shadow()) owner += "\n" + seen.file_mask->signature;
  return owner;
}

base::Error no_such_plan() {
  return base::fail(ErrorKind::kNotFound, "The plan id does not exist").with_reason(kNoSuchPlan);
}
base::Error no_such_task() {
  return base::fail(ErrorKind::kNotFound, "The plan task does not exist")
      .with_reason(kNoSuchPlanTask);
}

// An object that a published snapshot names is there; without it nothing can be planned.
base::Error without_object(base::Error error) {
  if (error.kind() != ErrorKind::kNotFound) return error;
  return base::fail(ErrorKind::kCorrupt, error.message());
}

base::Task<base::Result<PlannedScan>> first_answer(base::RequestContext context, Catalog* catalog,
                                                   std::string id, ScanPlanPtr plan) {
  PlannedScan answer;
  auto tasks = co_await planning::page_json(context, catalog->manifests, plan, 0);
  if (!tasks) co_return without_object(std::move(tasks).error());
  answer.tasks = std::move(*tasks);
  for (std::size_t page = 1; page < plan->pages(); ++page) {
    answer.plan_tasks.push_back(planning::to_string({id, page}));
  }
  answer.plan_id = std::move(id);
  co_return answer;
}

struct FoundPlan {
  ScanPlanPtr plan;  ///< Null: none.
  std::string owner;
};

// The caller's plan of that table as it is now called.
base::Task<base::Result<FoundPlan>> find_plan(base::RequestContext context, Catalog* catalog,
                                              model::TableIdentifier identifier,
                                              auth::Principal principal, std::string id) {
  // A table that is gone says so, whatever is kept of it.
  CO_ASSIGN_OR_RETURN(auto table, co_await catalog->loaded_tables->get(context, identifier));
  CO_ASSIGN_OR_RETURN(auto seen, co_await see_table(context, catalog, principal, std::move(table)));
  FoundPlan found{nullptr, owner_of(principal, seen)};
  found.plan = catalog->scan_plans->find(found.owner, id);
  if (found.plan != nullptr && found.plan->table_uuid != seen.loaded->metadata.table_uuid) {
    found.plan = nullptr;
  }
  co_return found;
}

// A masked table has one snapshot; the table's others are not unknown, they are not to be had.
base::Status check_is_masked_at(const publish::LoadedTable& table, const SeenTable& seen,
                                const scan::ScanRequest& scan) {
  if (!seen.is_shadow()) return {};
  std::vector<std::pair<const char*, model::SnapshotId>> asked;
  if (scan.snapshot_id) asked.emplace_back("snapshot-id", *scan.snapshot_id);
  if (scan.range) asked.emplace_back("start-snapshot-id", scan.range->after);
  if (scan.range) asked.emplace_back("end-snapshot-id", scan.range->last);
  for (const auto& [member, id] : asked) {
    if (!publish::find_snapshot(table, id) || publish::find_snapshot(*seen.loaded, id)) continue;
    return only_newest_is_masked(member);
  }
  return {};
}

}  // namespace

base::Task<base::Result<PlannedScan>> plan_table_scan(base::RequestContext context,
                                                      Catalog* catalog,
                                                      policy::Authorized<PlanTableScan> request) {
  CO_ASSIGN_OR_RETURN(auto table,
                      co_await catalog->loaded_tables->get(context, request->identifier));
  CO_ASSIGN_OR_RETURN(auto seen, co_await see_table(context, catalog, request.principal(), table));
  CO_RETURN_IF_ERROR(check_is_masked_at(*table, seen, *request->scan));
  auto plan = co_await planning::plan_scan(context, catalog->manifests, seen.loaded, request->scan);
  if (!plan) co_return without_object(std::move(plan).error());
  CO_ASSIGN_OR_RETURN(std::string id,
                      catalog->scan_plans->add(owner_of(request.principal(), seen), *plan));
  CO_ASSIGN_OR_RETURN(auto answer,
                      co_await first_answer(context, catalog, std::move(id), std::move(*plan)));
  answer.seen = std::move(seen);
  co_return answer;
}

base::Task<base::Result<PlannedScan>> fetch_plan(base::RequestContext context, Catalog* catalog,
                                                 policy::Authorized<NamedPlan> request) {
  CO_ASSIGN_OR_RETURN(auto found, co_await find_plan(context, catalog, request->identifier,
                                                     request.principal(), request->plan_id));
  if (found.plan == nullptr) co_return no_such_plan();
  co_return co_await first_answer(context, catalog, request->plan_id, std::move(found.plan));
}

base::Task<base::Status> cancel_plan(base::RequestContext context, Catalog* catalog,
                                     policy::Authorized<NamedPlan> request) {
  CO_ASSIGN_OR_RETURN(auto found, co_await find_plan(context, catalog, request->identifier,
                                                     request.principal(), request->plan_id));
  if (found.plan == nullptr) co_return no_such_plan();
  catalog->scan_plans->remove(found.owner, request->plan_id);
  co_return base::Status{};
}

base::Task<base::Result<std::string>> fetch_scan_tasks(base::RequestContext context,
                                                       Catalog* catalog,
                                                       policy::Authorized<FetchScanTasks> request) {
  auto name = planning::parse_page_name(request->plan_task);
  CO_ASSIGN_OR_RETURN(auto found,
                      co_await find_plan(context, catalog, request->identifier, request.principal(),
                                         name ? name->plan_id : ""));
  if (found.plan == nullptr || name->page >= found.plan->pages()) co_return no_such_task();
  auto tasks = co_await planning::page_json(context, catalog->manifests, found.plan, name->page);
  if (tasks) co_return std::move(*tasks);
  // The snapshot expired, and its manifests with it, since the scan was planned.
  if (tasks.error().kind() == ErrorKind::kNotFound) co_return no_such_task();
  co_return std::move(tasks).error();
}

}  // namespace lake::operation
